"""The routes under /v1, and the connection to the provider."""
