"""Chats of other programs: reads them from their files and adds them to a vault."""
