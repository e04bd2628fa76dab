"""Asks git for changes, in repositories that nobody has to trust."""
