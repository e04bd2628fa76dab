"""The sections of a prompt."""
