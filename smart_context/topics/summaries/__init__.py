"""Summaries of chats made without a model, and of attached notes."""
