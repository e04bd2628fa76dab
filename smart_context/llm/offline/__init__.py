"""Models without an endpoint: embeddings, and the responder that quotes passages."""
