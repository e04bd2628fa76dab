"""Files on disk: whole or not at all, by descriptor, one writer at a time."""
