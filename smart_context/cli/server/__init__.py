"""Verbs about the server and the vault."""
