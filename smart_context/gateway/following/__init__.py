"""Keeps a chat's document in step with the list of messages that its client sends."""
