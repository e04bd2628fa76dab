"""Packing a repository or a vault into a prompt (seed 001)."""
