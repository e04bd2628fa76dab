"""Decides which model reads a text: the English one, or the one for other languages."""

import math
import re
import zlib
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smart_context.base.text.languages import language_of, signs_of, without_language

_FILE = Path(__file__).with_name("foreign_words.npy")
_STEP = 16
_LENGTHS = (2, 3, 4, 5)
_WORD = re.compile(r"[^\W\d_]{3,}")
_ENGLISH_WORD = -1.0
_FOREIGN = 0.4
_FEW_SIGNS, _FEW_WORDS = 2, 6


def is_other_language(text: str, vocabulary: AbstractSet[str]) -> bool:
    """True if a text is in another language than English.

    Its script and its frequent words decide. A name or a label has none of these: there, the
    spelling of the words decides that the English model does not have. What stays uncertain, such
    as `Postgres`, counts as English.

    Args:
        text: Any text; one that `with_language` marked counts as in that language, unless it
            certainly is in another, or in English.
        vocabulary: The whole words that the English model has.
    """
    marked, text = without_language(text)
    language = language_of(text)
    if language == "en":
        return marked not in {"", "en"} and signs_of(text) < _FEW_SIGNS
    if marked:
        return marked != "en" or math.isinf(signs_of(text))
    words = _WORD.findall(text.lower())[: _FEW_WORDS + 1]
    if language and (signs_of(text) >= _FEW_SIGNS or len(words) > _FEW_WORDS):
        return True
    if language:
        return not words or _foreignness(words, vocabulary) > _ENGLISH_WORD / 2
    return bool(words) and _foreignness(words, vocabulary) > _FOREIGN


def _foreignness(words: list[str], vocabulary: AbstractSet[str]) -> float:
    """The mean log odds that the words are foreign."""
    known = [_ENGLISH_WORD if word in vocabulary else foreign_odds(word) for word in words]
    return math.fsum(known) / len(known)


def foreign_odds(word: str) -> float:
    """The log odds, from its spelling, that a lower-cased word is not an English one."""
    weights = _weights()
    return float(weights[parts_of(word)].sum() + weights[-1]) / _STEP


def parts_of(word: str) -> list[int]:
    """The numbers, below 16,384, of the parts of two to five characters of a word."""
    marked = f"^{word}$"
    return [
        zlib.crc32(marked[begin : begin + length].encode("utf-8", "surrogatepass")) % (1 << 14)
        for length in _LENGTHS
        for begin in range(len(marked) - length + 1)
    ]


@cache
def _weights() -> NDArray[np.int32]:
    return np.asarray(np.load(_FILE, allow_pickle=False), dtype=np.int32)
