"""The list of chats: its rows, and the search."""
