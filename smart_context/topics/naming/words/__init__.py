"""Splits texts into tokens and finds nouns, by the grammar of each language."""
