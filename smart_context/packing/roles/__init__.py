"""Roles: the instructions and the files that a worker is given."""
