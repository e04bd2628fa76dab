"""What a model is asked about a chat, and what it replies."""
