"""Decides which messages are in the request."""
