"""Finds notes that are near a text in meaning."""
