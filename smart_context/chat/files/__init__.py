"""Files attached to chats."""
