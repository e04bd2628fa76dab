"""Measures how well the filter works, on dialogue files and on the user's chats."""
