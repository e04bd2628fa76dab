"""Finds where a phrase begins and ends in scripts without spaces between words."""

import re
from collections.abc import Sequence
from itertools import islice

from smart_context.text.words import UNSPACED_RUN
from smart_context.topics.naming.unspaced import begins_phrase, ends_phrase, stretches_of

_HIRAGANA_EDGES = re.compile("^[\u3040-\u309f\u30fc]+|[\u3040-\u309f]+$")
_HIRAGANA = re.compile("[\u3040-\u309f]")
_KATAKANA = "\u30a0-\u30ff"
_KATAKANA_FIRST, _KATAKANA_LAST = re.compile(f"[{_KATAKANA}]"), re.compile(f"[{_KATAKANA}]$")
_COUNTED = re.compile("^[家个哪间这那几些](?=[\u3400-\u9fff]{2})")
_SHORTEST, _LONGEST = 2, 16
_MOST_TEXTS = 200


def whole_phrase(part: str, texts: Sequence[str]) -> str:
    """The phrase cut or extended to whole words; empty if it has none.

    Args:
        part: A phrase; in a script with spaces it comes back as it is.
        texts: The chat's messages.
    """
    if not UNSPACED_RUN.search(part):
        return part
    trimmed = _COUNTED.sub("", _HIRAGANA_EDGES.sub("", part))
    if len(trimmed) < _SHORTEST:
        return ""
    return _grown(_with_katakana(trimmed, texts), texts)


def _with_katakana(part: str, texts: Sequence[str]) -> str:
    """The phrase with the rest of a loan word that it cuts."""
    pattern = re.compile(
        (f"[{_KATAKANA}]*" if _KATAKANA_FIRST.match(part) else "")
        + re.escape(part)
        + (f"[{_KATAKANA}]*" if _KATAKANA_LAST.search(part) else "")
    )
    found = (match for text in texts if (match := pattern.search(text)))
    first = next(found, None)
    return first.group() if first else part


def _grown(part: str, texts: Sequence[str]) -> str:
    """The phrase with the neighbours that it has wherever it is said.

    A whole word has one neighbour here and another there; a piece of a name always the same.
    Empty if that makes it begin with a verb.
    """
    using = islice((text for text in texts if part in text), _MOST_TEXTS)
    stretches = [stretch for text in using for stretch in stretches_of(text) if part in stretch]
    sides = [piece for stretch in stretches for piece in _sides(stretch, part)]
    if len(sides) <= 1:
        return part
    before = _shared([left[::-1] for left, _ in sides])[::-1]
    after = _shared([right for _, right in sides])
    while before and (_COUNTED.match(before + part) or not begins_phrase(before + part)):
        before = before[1:]
    while after and not ends_phrase(part + after):
        after = after[:-1]
    whole = before + part + after
    if len(whole) > _LONGEST:
        return part
    return whole if whole == part or begins_phrase(whole) else ""


def _sides(stretch: str, part: str) -> list[tuple[str, str]]:
    """For each place where the phrase is: as many characters on each side as can matter."""
    starts = [at for at in range(len(stretch)) if stretch.startswith(part, at)]
    ends = [at + len(part) for at in starts]
    return [
        (stretch[max(0, start - _LONGEST) : start], stretch[end : end + _LONGEST])
        for start, end in zip(starts, ends, strict=True)
    ]


def _shared(texts: Sequence[str]) -> str:
    """The beginning that all texts have in common, up to the first hiragana."""
    shared = ""
    for characters in zip(*texts, strict=False):
        if len(set(characters)) > 1 or _HIRAGANA.match(characters[0]):
            break
        shared += characters[0]
    return shared
