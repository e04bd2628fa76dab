"""What a model is asked about a chat's topics, and its reply."""
