"""The shapes of values that pass between packages, and JSON objects as bytes."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NewType

JsonObject = dict[str, Any]
"""An object as JSON has it: from a file, a frame or a model, not yet checked."""

CountTokens = Callable[[str], int]
"""Counts the tokens of a text."""

PersonId = NewType("PersonId", str)
"""Names a person who asks for something."""

OWNER = PersonId("owner")
"""The one person of a server that has no others: whoever its gate lets in."""

NOBODY = PersonId("")
"""Who asks when no gate has said so; nothing is theirs."""

OWN_KEY = "token"
"""The client name of requests with the server's own token; no other key has it."""


def text_in(value: object) -> str:
    """A value that should be a string; empty if it is anything else."""
    return value if isinstance(value, str) else ""


def encoded(document: Mapping[str, object], *, indent: int | None = None) -> bytes:
    """A JSON object as bytes; `parsed` reads back even text that UTF-8 can't hold.

    Args:
        indent: Spaces for each level; `None` writes one compact line.
    """
    if indent:
        text = json.dumps(document, ensure_ascii=False, indent=indent) + "\n"
    else:
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


MOST_OBJECTS = 250_000
"""The lists and objects that JSON of up to eight megabytes may hold; more for larger ones.

Two bytes of JSON are an empty list, which takes a hundred in memory, and time each time that
memory is looked through for what is unused.
"""

_BYTES_AN_OBJECT = 32
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
"""A text, or what is left after a quotation mark that nothing closes."""


def too_many_objects(content: bytes) -> str:
    """Why these bytes are not read as JSON: they hold too much in little; empty if they don't."""
    most = max(MOST_OBJECTS, len(content) // _BYTES_AN_OBJECT)
    if content.count(b"{") + content.count(b"[") <= most:
        return ""
    outside = _STRING.sub(b"", content)
    found = outside.count(b"{") + outside.count(b"[")
    return f"expected at most {most:,} lists and objects, found {found:,}" if found > most else ""


def parsed(content: bytes) -> JsonObject | None:
    """The JSON object in these bytes; `None` if they hold anything else, or too many objects."""
    if too_many_objects(content):
        return None
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


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


def id_in(value: object) -> str:
    """The id in a field that holds a text or an object; empty if there is none."""
    if isinstance(value, Mapping):
        value = value.get("id")
    return value.strip() if isinstance(value, str) else ""
