"""Models without an endpoint: embeddings, the offline responder, scripted models."""
