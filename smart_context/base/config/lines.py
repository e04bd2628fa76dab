"""Finds the line of every key of a TOML text, for messages about faults.

The TOML parser gives no positions. This reader only looks for keys; it expects valid TOML, and
stops early on anything else.
"""

import re
from collections.abc import Iterator, Mapping

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
