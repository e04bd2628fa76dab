"""Reads TOML files key by key, with the line of each key, and notes every fault."""

import difflib
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli

from smart_context.base.disk.folders import NotPlain, TooLarge, read_inside
from smart_context.base.disk.places import Place, place_of
from smart_context.base.errors import ConfigInvalid, Fault

KeyPath = tuple[str, ...]

_DEEPEST = 50  # deeper keys get the line of the table around them
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SPACE = re.compile(r"[ \t]*")
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|'
    r"'''.*?'{3,5}|"
    r'"(?:[^"\\\n]|\\.)*"|'
    r"'[^'\n]*'",
    re.DOTALL,
)
_REST_OF_LINE = re.compile(r"[^\n]*")
_PLAIN_VALUE = re.compile(r"[^,\]\}\n#]*")


def lines_of_keys(text: str) -> Mapping[KeyPath, int]:
    """The line, counted from 1, of each key and table of a valid TOML text.

    A key that occurs several times (a table opened twice by dotted keys) has its first line.
    Tables in arrays are found under the array's own name.
    """
    lines: dict[KeyPath, int] = {}
    line, counted_to = 1, 0
    for path, position in _Scanner(text).found():
        line += text.count("\n", counted_to, position)
        counted_to = position
        for length in range(min(len(path), _DEEPEST), 0, -1):
            if path[:length] in lines:  # then its parents are, too
                break
            lines[path[:length]] = line
    return lines


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def found(self) -> Iterator[tuple[KeyPath, int]]:
        table: KeyPath = ()
        self._skip(_BLANK)
        while self._at < len(self._text):
            start = self._at
            if self._text[start] == "[":
                self._at += 2 if self._text.startswith("[[", start) else 1
                table = self._key()
                yield table, start
                self._skip(_REST_OF_LINE)
            else:
                yield from self._pair(table)
            self._skip(_BLANK)
            if self._at == start:
                return

    def _pair(self, table: KeyPath) -> Iterator[tuple[KeyPath, int]]:
        start = self._at
        path = table + self._key()
        yield path, start
        if self._text.startswith("=", self._at):
            self._at += 1
            yield from self._value(path)

    def _value(self, path: KeyPath) -> Iterator[tuple[KeyPath, int]]:
        self._skip(_SPACE)
        opening = self._text[self._at : self._at + 1]
        if opening == "{":
            yield from self._entries(path, "}")
        elif opening == "[":
            yield from self._entries(path, "]")
        elif not self._skip(_STRING):
            self._skip(_PLAIN_VALUE)

    def _entries(self, path: KeyPath, closing: str) -> Iterator[tuple[KeyPath, int]]:
        self._at += 1
        while True:
            self._skip(_BLANK)
            start = self._at
            if self._text.startswith(closing, start):
                self._at += 1
                return
            yield from self._pair(path) if closing == "}" else self._value(path)
            self._skip(_BLANK)
            if self._text.startswith(",", self._at):
                self._at += 1
            if self._at == start:
                return

    def _key(self) -> KeyPath:
        names: list[str] = []
        while True:
            self._skip(_SPACE)
            start = self._at
            if not (self._skip(_STRING) or self._skip(_BARE_KEY)):
                return tuple(names)
            names.append(_unquoted(self._text[start : self._at]))
            self._skip(_SPACE)
            if not self._text.startswith(".", self._at):
                return tuple(names)
            self._at += 1

    def _skip(self, pattern: re.Pattern[str]) -> bool:
        match = pattern.match(self._text, self._at)
        if match is None or match.end() == self._at:
            return False
        self._at = match.end()
        return True


_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|x([0-9A-Fa-f]{2})|(.))")
_ESCAPED = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b"}


def _unquoted(name: str) -> str:
    if name[0] == "'":
        return name[1:-1]
    if name[0] != '"':
        return name
    return _ESCAPE.sub(_character, name[1:-1])


def _character(match: re.Match[str]) -> str:
    digits = match[1] or match[2] or match[3]
    if digits:
        return chr(int(digits, 16))
    return _ESCAPED.get(match[4], match[4])


_API_KEY = re.compile(r"(?:\b(?:sk|pk|rk|gsk|xai|hf|ghp|glpat|AIza)[-_A-Za-z0-9]{16,})")
_MAX_SHOWN = 60
_HUGE = 10**20
_LARGEST = 2**63 - 1
"""The largest integer in TOML; the parser accepts larger ones."""


class FaultCollector:
    """The faults found so far, each with its line."""

    def __init__(self, lines: Mapping[KeyPath, int]) -> None:
        self._lines = lines
        self._found: list[Fault] = []

    def add(
        self, path: KeyPath, message: str, *, is_unknown: bool = False, meant: str = ""
    ) -> None:
        """Note that the key at `path` is wrong; a missing key has its table's line."""
        line = next(
            (self._lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self._lines),
            None,
        )
        key = dotted(path)
        fault = Fault(message=message, line=line, key=key, is_unknown=is_unknown, meant=meant)
        self._found.append(fault)

    def listed(self) -> tuple[Fault, ...]:
        """All of them, in the order of the file; those without a line come last."""
        return tuple(sorted(self._found, key=lambda fault: (fault.line is None, fault.line or 0)))


class Table:
    """One table of a document; a wrong value is noted and reads as its default.

    Attributes:
        faults: Collects the faults.
    """

    def __init__(self, values: Mapping[str, Any], path: KeyPath, faults: FaultCollector) -> None:
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
                meant, message = unknown_key(name, names)
                self.faults.add((*self.path, name), message, is_unknown=True, meant=meant)

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


def unknown_key(name: str, names: Collection[str]) -> tuple[str, str]:
    """The key that was probably meant by an unknown one, empty if none is close, and the fault."""
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return close[0], f"unknown key; did you mean {close[0]!r}?"
    return "", f"unknown key; expected one of {', '.join(sorted(names))}"


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
    """True if a text contains something like an API key."""
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


MAX_BYTES = 1 << 18


class TomlUnreadable(Exception):
    """The file can't be used; `fault` says why."""

    def __init__(self, message: str, line: int | None = None) -> None:
        self.fault = Fault(message=message, line=line)
        super().__init__(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class TomlDocument:
    """The content of a TOML file."""

    values: Mapping[str, Any]  # its top-level table
    lines: Mapping[KeyPath, int]  # the line of each key, counted from 1


def read_toml(path: Path | Place, *, may_be_link: bool = False) -> TomlDocument:
    """The document in a file.

    Args:
        may_be_link: Follow a link: for the user's own files, not for a vault's.

    Raises:
        FileNotFoundError: If there is no such file.
        TomlUnreadable: If it is too large, can't be read, is not UTF-8 or not TOML.
    """
    return parse_toml(_read_text(path, may_be_link=may_be_link))


@contextmanager
def settings_in(
    path: Path, *, may_be_link: bool = False, text: str | None = None
) -> Iterator[Table]:
    """The top table of a settings file, empty without one; the block's end raises all faults.

    Args:
        may_be_link: Follow a link: for the user's own files, not for a vault's.
        text: Read this in place of the file; faults still name the file.

    Raises:
        ConfigInvalid: With every fault and its line.
    """
    try:
        document = read_toml(path, may_be_link=may_be_link) if text is None else parse_toml(text)
    except FileNotFoundError:
        document = TomlDocument(values={}, lines={})
    except TomlUnreadable as error:
        raise ConfigInvalid(path, [error.fault]) from error
    faults = FaultCollector(document.lines)
    yield Table(document.values, (), faults)
    if listed := faults.listed():
        raise ConfigInvalid(path, listed)


def parse_toml(text: str) -> TomlDocument:
    """The document in a text; raises `TomlUnreadable` if it is not TOML."""
    text = text.replace("\r\n", "\n")
    try:
        values = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise TomlUnreadable(f"not TOML: {error.msg}", error.lineno) from error
    except RecursionError as error:
        raise TomlUnreadable("not usable: arrays or tables are nested too deeply") from error
    except ValueError as error:
        raise TomlUnreadable("not usable: a number has too many digits") from error
    return TomlDocument(values=values, lines=lines_of_keys(text))


def _read_text(path: Path | Place, *, may_be_link: bool) -> str:
    path = path.resolve() if may_be_link and isinstance(path, Path) else path
    try:
        content = read_inside(place_of(path), max_bytes=MAX_BYTES)
    except FileNotFoundError:
        raise
    except NotPlain as error:
        raise TomlUnreadable(f"expected a file, found something that is {error.strerror}") from None
    except TooLarge:
        message = f"larger than {MAX_BYTES:,} bytes, which no settings file needs"
        raise TomlUnreadable(message) from None
    except OSError as error:
        raise TomlUnreadable(f"can't be read: {error.strerror or error}") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise TomlUnreadable("not UTF-8; save the file in that encoding", line) from error
