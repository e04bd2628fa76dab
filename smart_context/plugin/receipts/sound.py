"""Reads the sound values of a stored receipt; a missing or damaged value affects no other.

Another version, or another program, may have written the line. Each function gives `None` for a
value of the wrong kind.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from smart_context.base.values import JsonObject

T = TypeVar("T")

_MOST = 1e15
"""An upper bound of sound numbers."""


def text(value: object) -> str | None:
    """A text."""
    return value if isinstance(value, str) else None


def flag(value: object) -> bool | None:
    """True or false."""
    return value if isinstance(value, bool) else None


def number(value: object) -> float | None:
    """A finite number."""
    return value if type(value) in {int, float} and abs(value) < _MOST else None  # type: ignore[arg-type, return-value] # its type was just checked


def whole(value: object) -> int | None:
    """A whole number."""
    return value if isinstance(value, int) and abs(value) < _MOST else None


def an_object(value: object) -> JsonObject | None:
    """A JSON object."""
    return value if isinstance(value, dict) else None


def texts(value: object) -> list[str] | None:
    """The texts in a list."""
    return each(text, value) if isinstance(value, list) else None


def by_name(read: Callable[[object], T | None]) -> Callable[[object], dict[str, T] | None]:
    """A function that gives the sound values of a JSON object."""

    def read_all(value: object) -> dict[str, T] | None:
        found = an_object(value)
        if found is None:
            return None
        return {name: one for name, entry in found.items() if (one := read(entry)) is not None}

    return read_all


def each(read: Callable[[Any], T | None], value: object) -> list[T]:
    """The sound entries of a list; none if the value is not a list."""
    return list(_each(read, value))


def _each(read: Callable[[Any], T | None], value: object) -> Iterator[T]:
    for entry in value if isinstance(value, list) else ():
        try:
            found = read(entry)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError):
            continue
        if found is not None:
            yield found


_SETTINGS: Mapping[str, Callable[[object], object]] = {
    **dict.fromkeys(("threshold",), number),
    **dict.fromkeys(("recent_messages", "context_budget_tokens"), whole),
    **dict.fromkeys(("embedding_search", "keep_pairs", "file_tools"), flag),
    **dict.fromkeys(("relevance", "role"), text),
    **dict.fromkeys(("topics", "pinned", "hidden", "contexts", "role_targets"), texts),
}


def settings(value: object) -> JsonObject | None:
    """The settings of the decision; settings unknown to this version stay unchanged."""
    found = an_object(value)
    if found is None:
        return None
    read = {name: _SETTINGS.get(name, _as_it_is)(entry) for name, entry in found.items()}
    return {name: entry for name, entry in read.items() if entry is not None}


def _as_it_is(value: object) -> object:
    return value
