"""Chats of other programs: readers from bytes to values, and what brings them into a vault."""
