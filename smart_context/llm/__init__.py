"""Models: OpenAI-compatible, embedded, scripted."""
