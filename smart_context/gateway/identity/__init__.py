"""Which chat a request belongs to."""
