"""The name of the embedding models that know many languages."""

MULTILINGUAL = "embedded/multilingual-2/"
"""How the name of an embedder begins that knows all of them; another number for other vectors."""
