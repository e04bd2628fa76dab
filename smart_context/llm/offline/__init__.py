"""Models that need no endpoint: embeddings, the offline responder, the scripted model."""
