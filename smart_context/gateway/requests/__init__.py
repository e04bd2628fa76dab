"""What a client asks for: its body, and the messages or items in it."""
