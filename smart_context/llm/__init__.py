"""Models: OpenAI-compatible ones, and the ones that work offline."""
