"""A client's request: its body, and the messages or items in it."""
