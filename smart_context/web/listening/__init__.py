"""Limits on sockets and connections."""
