"""The pieces into which a tokenizer splits a word, by the vocabulary of the embedding model.

Tokenizers know common English words whole and split others: names, and words of other languages.
Those of chat models are larger than this one, but split much alike.
"""

import unicodedata
from functools import cache, lru_cache
from math import ceil

from smart_context.base.resources import text_beside

_CONTINUES = "##"
_LONGEST = 24
_REPEATED = 8
"""The letters in a piece of one repeated letter: tokenizers join these."""
_REMEMBERED = 50_000

LATIN = ((0xC0, 0x250), (0x1E00, 0x1F00))
"""The ranges of the Latin letters beyond ASCII."""

_WITHOUT_ACCENT = dict(zip("øØłŁđĐßæÆœŒıðÞþ", "oOlLdDsaAoOidTt", strict=True))


@cache
def _vocabulary() -> tuple[frozenset[str], frozenset[str]]:
    """Words and beginnings of words, and the pieces that can follow these; in lower case."""
    entries = text_beside(__file__, "minilm/vocab.txt").split("\n")
    whole = frozenset(entry for entry in entries if entry.isascii() and entry.isalpha())
    return whole, frozenset(e.removeprefix(_CONTINUES) for e in entries if e.startswith(_CONTINUES))


@lru_cache(_REMEMBERED)
def pieces_of(word: str) -> int:
    """The number of pieces of a word of ASCII letters; the time grows with the square of them."""
    known, later = _vocabulary()
    rest = word.lower()
    if rest in known:
        return 1
    if rest == rest[0] * len(rest):
        return ceil(len(rest) / _REPEATED)
    count = 0
    while rest:
        most = min(len(rest), _LONGEST)
        length = next((n for n in range(most, 1, -1) if rest[:n] in known), 1)
        rest, known = rest[length:], later
        count += 1
    return count


@cache
def without_accents() -> dict[int, str]:
    """The ASCII letters for Latin ones, as a table for `str.translate`."""
    letters = (chr(code) for first, end in LATIN for code in range(first, end))
    bare = {c: _WITHOUT_ACCENT.get(c, unicodedata.normalize("NFD", c)[0]) for c in letters}
    return {ord(c): base for c, base in bare.items() if base.isascii() and base.isalpha()}
