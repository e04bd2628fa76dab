"""Renders shipped templates, and the user's own in a child process."""
