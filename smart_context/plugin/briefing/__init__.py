"""The head of a request: the role and the named contexts."""
