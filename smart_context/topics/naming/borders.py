"""Finds the borders of phrases in scripts without spaces between words."""

import re
from collections.abc import Sequence
from itertools import islice

from smart_context.base.text.words import UNSPACED_RUN
from smart_context.topics.naming.korean import is_korean
from smart_context.topics.naming.unspaced import begins_phrase, ends_phrase, stretches_of

_HIRAGANA_EDGES = re.compile("^[\u3040-\u309f\u30fc]+|[\u3040-\u309f]+$")
_HIRAGANA = re.compile("[\u3040-\u309f]")
_KATAKANA = "\u30a0-\u30ff"
_KATAKANA_FIRST, _KATAKANA_LAST = re.compile(f"[{_KATAKANA}]"), re.compile(f"[{_KATAKANA}]$")
_COUNTED = re.compile("^[家个哪间这那几些](?=[\u3400-\u9fff]{2})")
_KANJI_LAST = re.compile("[\u3400-\u9fff]$")
_OKURIGANA = frozenset("しりきけみち")
_SHORTEST, _LONGEST = 2, 16
_MOST_TEXTS = 200


def whole_phrase(part: str, texts: Sequence[str]) -> str:
    """The phrase cut or extended to whole words; empty if none is left.

    Args:
        part: A phrase; in a script with spaces it is returned unchanged.
        texts: The chat's messages.
    """
    if not UNSPACED_RUN.search(part) or is_korean(part):
        return part
    trimmed = _COUNTED.sub("", _HIRAGANA_EDGES.sub("", part))
    if len(trimmed) < _SHORTEST:
        return ""
    return _with_okurigana(_grown(_with_katakana(trimmed, texts), texts), texts)


def _with_okurigana(part: str, texts: Sequence[str]) -> str:
    """The phrase with the hiragana that ends a noun wherever it is said: `引っ越し`."""
    if not (_HIRAGANA.search(part) and _KANJI_LAST.search(part)):
        return part
    after = [match[1] for text in texts for match in re.finditer(re.escape(part) + "(.?)", text)]
    if len(after) > 1 and len(set(after)) == 1 and after[0] in _OKURIGANA:
        return part + after[0]
    return part


def _with_katakana(part: str, texts: Sequence[str]) -> str:
    """The phrase, extended by the rest of a loan word that it would cut."""
    before = f"[{_KATAKANA}]*" if _KATAKANA_FIRST.match(part) else ""
    after = f"[{_KATAKANA}]*" if _KATAKANA_LAST.search(part) else ""
    if not before and not after:
        return part
    pattern = re.compile(before + re.escape(part) + after)
    found = (match.group() for text in texts if (match := pattern.search(text)))
    return next(found, part)


def _grown(part: str, texts: Sequence[str]) -> str:
    """The phrase, extended by the characters that surround it wherever it occurs.

    A whole word has different neighbours; a piece of a name always has the same ones. Empty if
    the longer phrase begins with a verb.
    """
    if len(part) > _LONGEST:
        return part
    using = islice((text for text in texts if part in text), _MOST_TEXTS)
    runs = (run for text in using for run in UNSPACED_RUN.findall(text) if part in run)
    stretches = [stretch for run in runs for stretch in stretches_of(run) if part in stretch]
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
    """For each occurrence of the phrase, the characters on either side that can matter."""
    starts = [match.start() for match in re.finditer(f"(?={re.escape(part)})", stretch)]
    ends = [start + len(part) for start in starts]
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
