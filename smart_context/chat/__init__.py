"""Chats: messages, their store, and the history a turn sends."""
