"""The list of chats: rows, search, and who changed what."""
