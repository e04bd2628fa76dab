"""Models: OpenAI-compatible, and those that are there offline."""
