"""Vectors of texts from the words and their beginnings alone, for languages no model knows."""

import zlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from smart_context.base.text.words import is_stop_word, spelled_words
from smart_context.llm.models import Matrix, unit_rows

_WIDTH = 384
_LENGTHS = (3, 4)
_PART = 0.5
_NOTHING = np.zeros(_WIDTH, np.float32)


def spelling_vectors(texts: Sequence[str]) -> Matrix:
    """Shape (len(texts), 384), unit rows: alike where texts share words, or parts of them.

    Zero for a text of stop words only.
    """
    rows = np.zeros((len(texts), _WIDTH), np.float32)
    for row, text in zip(rows, texts, strict=True):
        for word in {word for word in spelled_words(text) if not is_stop_word(word)}:
            parts = _parts(word)
            weight = np.float32(_PART / len(parts) ** 0.5 if parts else 0)
            row[:] += _direction(word)
            row[:] += sum((weight * _direction(f"#{part}") for part in parts), start=_NOTHING)
    return unit_rows(rows)


def _parts(word: str) -> list[str]:
    return [
        word[begin : begin + length]
        for length in _LENGTHS
        for begin in range(len(word) - length + 1)
    ]


@lru_cache(maxsize=20_000)
def _direction(part: str) -> NDArray[np.float32]:
    seed = zlib.crc32(part.encode("utf-8", "surrogatepass"))
    drawn = np.random.default_rng(seed).standard_normal(_WIDTH).astype(np.float32)
    return drawn / np.linalg.norm(drawn)
