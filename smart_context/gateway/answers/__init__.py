"""Reads a client's answer while its bytes are passed on unchanged."""
