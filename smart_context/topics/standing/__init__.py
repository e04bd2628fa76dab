"""Finds statements that stay true for the whole chat."""
