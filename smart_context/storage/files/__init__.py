"""The ports of storage over files in the memory folder (docs/chats.md)."""
