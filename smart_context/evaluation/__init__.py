"""Scores relevance on dialogues, with the product's own path."""
