"""Limits of JSON that comes from elsewhere, found before it is parsed or copied."""

import re
from itertools import accumulate
from typing import Any

MOST_OBJECTS = 160_000
"""The lists and objects that JSON of up to eight megabytes may hold; more for larger ones.

Two bytes of JSON are an empty list, which takes a hundred in memory, and time each time that
memory is looked through for what is unused.
"""

MOST_KEYS = 160_000
"""The keys that JSON may hold beyond twenty for each list and object.

A key that was not met before takes the parser half a microsecond, and no other thread has a turn
until all of the JSON is parsed.
"""

_BYTES_AN_OBJECT, _KEYS_AN_OBJECT = 50, 20
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
"""A text, or what is left after a quotation mark that nothing closes."""


def too_much(content: bytes) -> str:
    """Why these bytes are not read as JSON: they hold too much in little; empty if they don't."""
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

    No parser has to recurse into it for that.

    Raises:
        ValueError: It seems so, but some of them are never closed.
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
