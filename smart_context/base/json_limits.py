"""Limits of JSON that comes from elsewhere, found before it is parsed or copied."""

import re
from itertools import accumulate
from typing import Any

MOST_OBJECTS = 160_000
"""The most lists and objects in JSON of up to eight megabytes; larger JSON may hold more.

An empty list is two bytes of JSON but about a hundred in memory, and each pass of the garbage
collector takes time for it.
"""

MOST_KEYS = 160_000
"""The most keys in JSON, in addition to twenty for each list and object.

Each new key takes the parser half a microsecond, and no other thread runs until all of the JSON is
parsed.
"""

_BYTES_AN_OBJECT, _KEYS_AN_OBJECT = 50, 20
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
"""A string, or the rest of the JSON after a quotation mark that is never closed."""


def too_much(content: bytes) -> str:
    """The reason to refuse JSON with too many objects or keys for its size; empty if it is read."""
    most = max(MOST_OBJECTS, len(content) // _BYTES_AN_OBJECT)
    objects, keys = _objects_in(content), content.count(b":")
    if objects <= most and keys <= MOST_KEYS + objects * _KEYS_AN_OBJECT:
        return ""
    outside = _STRING.sub(b"", content)  # takes as long as parsing: only where it seems too much
    objects, keys = _objects_in(outside), outside.count(b":")
    if objects > most:
        return f"expected at most {most:,} lists and objects, found {objects:,}"
    most = MOST_KEYS + objects * _KEYS_AN_OBJECT
    return f"expected at most {most:,} keys, found {keys:,}" if keys > most else ""


def _objects_in(content: bytes) -> int:
    return content.count(b"{") + content.count(b"[")


_NOT_BRACKETS = re.compile(rb"[^][{}]+")
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def is_nested_deeper(text: str, most: int) -> bool:
    """True if lists and objects are nested more than `most` levels deep in JSON.

    Counts brackets, so no parser recurses into deep JSON.

    Raises:
        ValueError: It seems so, but the brackets don't match.
    """
    if text.count("[") + text.count("{") <= most:
        return False
    outside = _STRING.sub(b"", text.encode("utf-8", "surrogatepass"))
    brackets = _NOT_BRACKETS.sub(b"", outside)
    if max(accumulate(map(_STEPS.__getitem__, brackets), initial=0)) <= most:
        return False
    if any(brackets.count(pair[:1]) != brackets.count(pair[1:]) for pair in (b"[]", b"{}")):
        raise ValueError("the brackets don't match")
    return True


def holds_more(document: Any, most: int) -> bool:
    """True if the lists and objects of a document have more than `most` entries together."""
    waiting, entries = [document], 0
    while waiting and entries <= most:
        value = waiting.pop()
        if isinstance(value, list | tuple | dict):
            entries += len(value)
            if entries <= most:
                waiting += value.values() if isinstance(value, dict) else value
    return entries > most
