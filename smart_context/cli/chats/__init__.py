"""Verbs about chats."""
