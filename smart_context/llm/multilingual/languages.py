"""The languages that the embedding models of the package know."""

MULTILINGUAL = "embedded/multilingual/"
"""How the name of an embedder begins that knows all of them."""

KNOWN = frozenset(
    ("ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "tr", "uk", "zh")
)
"""ISO 639-1 codes."""
