"""Removes a key from texts of others, whole, in parts or encoded.

An endpoint that refuses a request may quote the key, and its words are shown, logged and stored.
"""

import base64
from collections.abc import Iterator
from urllib.parse import quote

IN_PLACE_OF_A_KEY = "[key]"

_SHORTEST_RUN = 8
"""The shortest run of characters that reveals part of a key."""

_LEAST_IN_PARTS = 12
"""The fewest letters and digits of a key that is searched in parts; `ollama` is just a word."""


_LEAST = 3
"""The shortest key to remove: shorter ones, like an `x` for any key, are part of many words."""


def redacted(text: str, key: str) -> str:
    """The text with `[key]` in place of the key or runs of it, in any usual encoding.

    Case and anything between letters and digits are ignored, so a key broken into lines is found.
    Takes linear time.
    """
    if len(key) < _LEAST:
        return text
    text = text.replace(key, IN_PLACE_OF_A_KEY)
    places = [place for place, letter in enumerate(text) if _counts(letter)]
    letters = "".join(text[place] for place in places).lower()
    pieces: list[str] = []
    shown = 0
    for first, last in _found(letters, _runs(key)):
        start, end = places[first], places[last] + 1
        if start > shown or not pieces:
            pieces += (text[shown:start], IN_PLACE_OF_A_KEY)
        shown = max(shown, end)
    return "".join((*pieces, text[shown:]))


def _found(letters: str, runs: dict[int, set[str]]) -> Iterator[tuple[int, int]]:
    """First and last position of each run of the key, ordered by the first."""
    for start in range(len(letters)):
        lengths = [length for length in runs if letters[start : start + length] in runs[length]]
        if lengths:
            yield start, start + max(lengths) - 1


def _runs(key: str) -> dict[int, set[str]]:
    """The runs that reveal the key, by length."""
    in_parts = sum(map(_counts, key)) >= _LEAST_IN_PARTS
    runs: dict[int, set[str]] = {}
    for form in (*(_plain(key) if in_parts else ()), *_encoded(key)):
        letters = "".join(filter(_counts, form)).lower()
        length = min(_SHORTEST_RUN, len(letters) // 2) if in_parts else len(letters)
        starts = range(len(letters) - length + 1) if length else ()
        runs.setdefault(length, set()).update(letters[at : at + length] for at in starts)
    return runs


def _plain(key: str) -> tuple[str, ...]:
    return key, key[::-1], quote(key.encode("utf-8", "surrogatepass"), safe="")


def _encoded(key: str) -> Iterator[str]:
    """The key in the encodings that programs write."""
    content = key.encode("utf-8", "surrogatepass")
    yield from in_base64(key)
    yield from ("".join(f"{mark}{byte:02x}" for byte in content) for mark in ("", "x", "0x", "u00"))
    yield "".join(map(str, content))


def in_base64(key: str) -> Iterator[str]:
    """The Base64 letters that depend on the key alone, at each position in an encoded text."""
    content = key.encode("utf-8", "surrogatepass")
    for offset in range(3):  # after other bytes, the key may begin at any place of a group
        encoded = base64.b64encode(b"\0" * offset + content).decode()
        yield encoded[-(-offset * 4 // 3) : (offset + len(content)) * 4 // 3]


def _counts(letter: str) -> bool:
    return letter.isascii() and letter.isalnum()
