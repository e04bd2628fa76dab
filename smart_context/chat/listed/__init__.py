"""The list of chats: its rows, the search, and reports of changes."""
