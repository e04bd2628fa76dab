"""Counts the tokens of many texts, in a time that does not grow with the chat.

Tokenizers need seconds for the texts that fill a large window. So short requests are counted text
by text, and longer ones by samples.
"""

from collections.abc import Iterable
from itertools import islice
from math import ceil
from zlib import crc32

from smart_context.base.values import CountTokens

COUNTED_ONE_BY_ONE = 64_000
"""Up to this many bytes in all, each text is counted."""

MARGIN = 1.1
"""The factor on counts that come from samples."""

_LONG = 8_000
_LOOKED_AT, _ONE_IN, _FEW = 512, 8, 16
_SAMPLE = 1_000


def utf8_bytes(text: str) -> int:
    """The bytes of a text in UTF-8; its tokens are never more."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def counting(texts: Iterable[str], count: CountTokens) -> CountTokens:
    """A function that counts these texts: exactly, or by samples if they are many.

    Args:
        texts: The texts of one request, those of a long chat newest first: samples are taken
            from the first ones.
        count: Counts one text, and caches the result.
    """
    seen = []
    size = 0
    for text in texts:
        seen.append(text)
        size += utf8_bytes(text)
        if size > COUNTED_ONE_BY_ONE and len(seen) >= _LOOKED_AT:
            break
    if size <= COUNTED_ONE_BY_ONE:
        return count
    rate = _rate(seen, count)

    def estimated(text: str) -> int:
        size = utf8_bytes(text)
        return ceil(MARGIN * size * (_rate(_pieces(text), count) if size > _LONG else rate))

    return estimated


def _rate(texts: Iterable[str], count: CountTokens) -> float:
    """Tokens per byte, from samples that stay the same as texts are added."""
    known = [text for text in texts if text]
    chosen = [
        text for text in known if crc32(text[:_SAMPLE].encode(errors="replace")) % _ONE_IN == 0
    ]
    samples = [text[:_SAMPLE] for text in (chosen if len(chosen) >= _FEW else known[:_FEW])]
    return sum(map(count, samples)) / max(sum(map(utf8_bytes, samples)), 1)


def _pieces(text: str) -> list[str]:
    """Evenly spread pieces of a long text."""
    step = max(len(text) // 5, _SAMPLE)
    return list(islice((text[at : at + _SAMPLE] for at in range(0, len(text), step)), 5))
