"""Roles: the instructions and files for one kind of task."""
