"""Reads a TOML table key by key, noting every fault."""

import difflib
import re
from collections.abc import Collection, Mapping
from typing import Any

from smart_context.base.config.lines import KeyPath
from smart_context.base.errors import Fault

_API_KEY = re.compile(r"(?:\b(?:sk|pk|rk|gsk|xai|hf|ghp|glpat|AIza)[-_A-Za-z0-9]{16,})")
_MAX_SHOWN = 60
_HUGE = 10**20
_LARGEST = 2**63 - 1
"""The largest integer in TOML, whose parser here takes larger ones."""


class Faults:
    """The faults found so far, each with its line."""

    def __init__(self, lines: Mapping[KeyPath, int]) -> None:
        self._lines = lines
        self._found: list[Fault] = []

    def add(self, path: KeyPath, message: str) -> None:
        """Note that the key at `path` is wrong; a missing key has its table's line."""
        line = next(
            (self._lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self._lines),
            None,
        )
        self._found.append(Fault(message=message, line=line, key=dotted(path)))

    def listed(self) -> tuple[Fault, ...]:
        """All of them, in the order of the file; those without a line come last."""
        return tuple(sorted(self._found, key=lambda fault: (fault.line is None, fault.line or 0)))


class Table:
    """One table of a document; a wrong value is noted and reads as its default.

    Attributes:
        faults: Where faults are noted.
    """

    def __init__(self, values: Mapping[str, Any], path: KeyPath, faults: Faults) -> None:
        self.values = values
        self.path = path
        self.faults = faults

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def fault(self, name: str, message: str) -> None:
        """Note that the value of `name` is wrong."""
        self.faults.add((*self.path, name), message)

    def allow(self, names: Collection[str]) -> None:
        """Note every key that is not among `names`, without its value."""
        for name in self.values:
            if name not in names:
                self.fault(name, unknown_key(name, names))

    def table(self, name: str) -> "Table":
        """The table of that name; an empty one when it is absent."""
        value = self.values.get(name, {})
        if not isinstance(value, Mapping):
            self.fault(name, f"expected a table, found {found(value)}")
            value = {}
        return Table(value, (*self.path, name), self.faults)

    def text(self, name: str, default: str = "", *, max_chars: int = 2_000) -> str:
        """A string that is not empty."""
        value = self.values.get(name, default)
        if not isinstance(value, str):
            self.fault(name, f"expected a string, found {found(value)}")
            return default
        if name in self.values and not value.strip():
            self.fault(name, "expected a string, found an empty one")
            return default
        if len(value) > max_chars:
            self.fault(name, f"expected at most {max_chars:,} characters, found {len(value):,}")
            return default
        return value

    def number(
        self, name: str, default: float, *, minimum: float, maximum: float, whole: bool = False
    ) -> float:
        """A number within limits, both included; with `whole` an integer."""
        value = self.values.get(name, default)
        if message := number_fault(value, minimum=minimum, maximum=maximum, whole=whole):
            self.fault(name, message)
            return default
        return float(value) if not whole else int(value)

    def boolean(self, name: str, *, default: bool) -> bool:
        """`true` or `false`."""
        value = self.values.get(name, default)
        if isinstance(value, bool):
            return value
        self.fault(name, f"expected true or false, found {found(value)}")
        return default


def number_fault(
    value: object, *, minimum: float | None, maximum: float | None, whole: bool
) -> str | None:
    """The fault of a number, or `None`; `true` and `nan` are not numbers."""
    kind = "a whole number" if whole else "a number"
    allowed: tuple[type, ...] = (int,) if whole else (int, float)
    limits = _limits(minimum, maximum)
    if isinstance(value, bool) or not isinstance(value, allowed):
        return f"expected {kind}{limits}, found {found(value)}"
    low = float("-inf") if minimum is None else minimum
    high = float("inf") if maximum is None else maximum
    is_in_range = low <= value <= high  # type: ignore[operator] # an int or a float, as checked above
    if not is_in_range or (isinstance(value, int) and abs(value) > _LARGEST):
        return f"expected {kind}{limits}, found {found(value)}"
    return None


def unknown_key(name: str, names: Collection[str]) -> str:
    """The fault of an unknown key, with the key that may be meant."""
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f"unknown key; did you mean {close[0]!r}?"
    return f"unknown key; expected one of {', '.join(sorted(names))}"


def found(value: object) -> str:
    """A value for a message: its kind, and the value itself if short and not secret."""
    if isinstance(value, str):
        hidden = len(value) > _MAX_SHOWN or looks_secret(value)
        return "a string" if hidden else f"the string {value!r}"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        huge = isinstance(value, int) and abs(value) >= _HUGE
        return "a huge number" if huge else f"the number {value}"
    kinds = ((Mapping, "a table"), (list, "an array"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "a date or time")


def looks_secret(text: str) -> bool:
    """True if a text contains what looks like an API key."""
    return bool(_API_KEY.search(text)) or text.lower().startswith("bearer ")


def dotted(path: KeyPath) -> str:
    """A key as the file would write it; a name that looks like a secret is not shown."""
    return ".".join("…" if looks_secret(name) else name for name in path)


def _limits(minimum: float | None, maximum: float | None) -> str:
    if minimum is not None and maximum is not None:
        return f" from {minimum:g} to {maximum:g}"
    if minimum is not None:
        return f" of at least {minimum:g}"
    return f" of at most {maximum:g}" if maximum is not None else ""
