"""Sockets and connections: how many may be open, from whom, and for how long."""
