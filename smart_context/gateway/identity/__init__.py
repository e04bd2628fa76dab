"""The chat that a request belongs to, and the program that sends it."""
