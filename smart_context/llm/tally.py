"""Counts many texts for one model, in a time that does not grow with the length of a chat.

Tokenizers take seconds for what fills a large window. So the texts of a request are counted one
by one as long as they are short, and beyond that by what samples of them come to.
"""

from collections.abc import Iterable
from itertools import islice
from math import ceil
from zlib import crc32

from smart_context.values import CountTokens

COUNTED_ONE_BY_ONE = 64_000
"""Bytes of all texts up to which each is counted."""

MARGIN = 1.1
"""By how much a count that comes from samples is raised."""

_LONG = 8_000
_LOOKED_AT, _ONE_IN, _FEW = 512, 8, 16
_SAMPLE = 1_000


def weight(text: str) -> int:
    """The bytes of a text in UTF-8: no tokenizer in use here makes more tokens of it."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def counting(texts: Iterable[str], count: CountTokens) -> CountTokens:
    """How to count each of these texts: one by one, or by samples when they are too many.

    Args:
        texts: The texts of one request; of a long chat the newest come first, since the first
            ones are looked at.
        count: Counts one text, and remembers what it counted.
    """
    seen = []
    size = 0
    for text in texts:
        seen.append(text)
        size += weight(text)
        if size > COUNTED_ONE_BY_ONE and len(seen) >= _LOOKED_AT:
            break
    if size <= COUNTED_ONE_BY_ONE:
        return count
    rate = _rate(seen, count)

    def estimated(text: str) -> int:
        size = weight(text)
        return ceil(MARGIN * size * (_rate(_pieces(text), count) if size > _LONG else rate))

    return estimated


def _rate(texts: Iterable[str], count: CountTokens) -> float:
    """Tokens a byte, by samples that stay the same as texts are added, in every process."""
    known = [text for text in texts if text]
    chosen = [
        text for text in known if crc32(text[:_SAMPLE].encode(errors="replace")) % _ONE_IN == 0
    ]
    samples = [text[:_SAMPLE] for text in (chosen if len(chosen) >= _FEW else known[:_FEW])]
    return sum(map(count, samples)) / max(sum(map(weight, samples)), 1)


def _pieces(text: str) -> list[str]:
    """Some pieces of a long text, evenly spread."""
    step = max(len(text) // 5, _SAMPLE)
    return list(islice((text[at : at + _SAMPLE] for at in range(0, len(text), step)), 5))
