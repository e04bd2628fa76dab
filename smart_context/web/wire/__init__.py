"""Frames of the wire: parsing, results, and the queue of each client."""
