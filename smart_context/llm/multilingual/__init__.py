"""Texts in other languages than English, as vectors in the space of the English model."""
