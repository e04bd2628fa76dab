"""The name of the embedding model that knows many languages."""

MULTILINGUAL = "embedded/multilingual-e5-small/"
"""How the name of an embedder begins that knows all of them."""
