"""Stores, caches and compares the vectors of messages."""
