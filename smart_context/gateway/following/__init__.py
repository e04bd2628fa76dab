"""Keeps a chat's document in step with the messages that its client sends."""
