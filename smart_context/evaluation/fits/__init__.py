"""What is fitted to another embedding model."""
