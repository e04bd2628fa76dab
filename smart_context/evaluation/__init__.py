"""Measures how well the filter keeps what belongs, on dialogue files and on the user's chats."""
