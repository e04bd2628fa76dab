"""Frames of the wire: what comes in, what goes out, in what order."""
