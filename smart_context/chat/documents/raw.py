"""A chat's document with the text of each part as it was written. Pure."""

import re
from collections.abc import Iterator
from json import JSONDecoder
from typing import Any

from smart_context.chat.documents.document import MessageEntry, Version, read_version

_SPACE = re.compile(r"[ \t\n\r]*")


def raw_version(content: bytes) -> Version:
    """The document in a file; numbers, escapes and the order of keys stay as they are written.

    White space between the parts does not.

    Raises:
        NotAChat: As `read_version`.
    """
    version = read_version(content)
    text = content.decode("utf-8-sig")
    pairs = list(_members(text))
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):  # a key is there twice, and the last one counts
        return version
    written = dict(pairs)
    lines = [line for _, line in _items(written.get("messages", "[]"))]
    entries = [
        MessageEntry(entry.value, line.encode())
        for entry, line in zip(version.entries, lines, strict=True)
    ]
    encoded = {key: (value, written[key].encode()) for key, value in version.other.items()}
    return Version(tuple(entries), version.other, version.place, encoded)


def _members(text: str) -> Iterator[tuple[str, str]]:
    """The keys of the object that a text holds, each with the text of its value."""
    place = _after_space(text, text.index("{") + 1)
    while text[place] != "}":
        name, place = _value(text, place)
        place = _after_space(text, place)  # of the colon
        begin = _after_space(text, place + 1)
        _, end = _value(text, begin)
        yield name, text[begin:end]
        place = _next(text, end)


def _items(text: str) -> Iterator[tuple[Any, str]]:
    """The items of the list that a text holds, each with its text."""
    place = _after_space(text, 1)
    while text[place] != "]":
        value, end = _value(text, place)
        yield value, text[place:end]
        place = _next(text, end)


def _next(text: str, place: int) -> int:
    """The place of what follows: after a comma, or the closing bracket."""
    place = _after_space(text, place)
    return _after_space(text, place + 1) if text[place] == "," else place


def _after_space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place


def _value(text: str, place: int) -> tuple[Any, int]:
    return _decoder.raw_decode(text, place)


_decoder = JSONDecoder()
