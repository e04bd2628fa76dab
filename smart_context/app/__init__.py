"""The composition root: the one place that chooses implementations."""
