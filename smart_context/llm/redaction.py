"""Takes a key out of what others say: whole, in parts, or encoded.

An endpoint that refuses a request may quote the key, and what it says is shown, logged and stored.
"""

import base64
from collections.abc import Iterator
from urllib.parse import quote

IN_PLACE_OF_A_KEY = "[key]"

_SHORTEST_RUN = 8
"""Characters in a row that give a part of a key away."""

_LEAST_IN_PARTS = 12
"""Letters and digits of a key that is looked for in parts; shorter ones are words, as `ollama`."""


def redacted(text: str, key: str) -> str:
    """The text with `[key]` for all of it that is the key or a run of it, in any usual encoding.

    Case does not count, nor does what stands between letters and digits: a key that was broken
    into lines is found. Takes time in proportion to the text.
    """
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
    """First and last place of each run that is the key's, in the order of the first."""
    for start in range(len(letters)):
        lengths = [length for length in runs if letters[start : start + length] in runs[length]]
        if lengths:
            yield start, start + max(lengths) - 1


def _runs(key: str) -> dict[int, set[str]]:
    """What gives the key away, by length."""
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
    """The key as programs write it."""
    content = key.encode("utf-8", "surrogatepass")
    for offset in range(3):  # what is encoded together with words before it begins within a group
        encoded = base64.b64encode(b"\0" * offset + content).decode()
        yield encoded[-(-offset * 4 // 3) : (offset + len(content)) * 4 // 3]
    yield from ("".join(f"{mark}{byte:02x}" for byte in content) for mark in ("", "x", "0x", "u00"))
    yield "".join(map(str, content))


def _counts(letter: str) -> bool:
    return letter.isascii() and letter.isalnum()
