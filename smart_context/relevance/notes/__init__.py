"""Which notes are near to a text."""
