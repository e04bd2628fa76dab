"""The question to a model about a chat's topics, and its reply."""
