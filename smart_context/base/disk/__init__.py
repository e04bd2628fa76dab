"""Files on disk: written whole, opened by descriptor, one writer at a time."""
