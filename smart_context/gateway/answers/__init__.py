"""Answers: a provider's, read while it passes, and our own."""
