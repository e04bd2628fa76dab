"""Which chat a request belongs to, and which program sends it."""
