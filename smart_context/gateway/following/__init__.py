"""Keeps a chat's document in step with a client's list."""
