"""Removes our keys from a model's answer before it is stored or shown.

Unlike an error message, an answer may be any text, so only whole keys are removed. They are found
in the usual spellings: unchanged, escaped for JSON, web addresses or HTML, or encoded.
"""

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from smart_context.llm.redaction import IN_PLACE_OF_A_KEY, in_base64, redacted

_LEAST = 6
_LEAST_WITHOUT_DIGITS = 12
"""Shorter keys are words, such as `ollama` or `lm-studio`, that open nothing."""

_AT_ONCE = 256 << 10
_LONGEST = 16 << 10
"""The most characters of a spelled key, and of a text searched in one uninterruptible call."""

_LONGEST_LETTER = 16
"""Characters of a spelled letter: eight backslashes and `u0041`, or `&#x00041;`."""

_HALF_ESCAPE = re.compile(
    r"(?:\\{1,8}(?:u[0-9a-f]{0,3}|x[0-9a-f]?)?|%(?:25)?[0-9a-f]?|&(?:#?x?[0-9a-f]{0,8}|[a-z]{0,6}))\Z",
    re.IGNORECASE,
)

_Letter = tuple[re.Pattern[str], ...]
"""The ways to write a letter."""

_Spelling = tuple[_Letter, ...]


class RepeatedKeys:
    """Finds keys in texts.

    Args:
        keys: Keys that were sent; plain words among them are ignored.
    """

    def __init__(self, keys: Iterable[str | None]) -> None:
        self._keys = tuple(sorted({key for key in keys if key}, key=len))
        wanted = tuple(filter(_is_secret, self._keys))
        self._spellings = tuple(form for key in wanted for form in _spellings(key))
        self._longest = _LONGEST_LETTER * max(map(len, wanted), default=0)
        self._pattern = _pattern(wanted) if wanted else None
        self._first = _first(wanted)
        self._marks = ("\\", "%", "&", *(form for key in wanted for form in (key, *_encoded(key))))

    def text(self, text: str) -> str:
        """The text with `[key]` in place of each key."""
        if self._pattern is None or not self.are_in(text):
            return text
        return self._pattern.sub(IN_PLACE_OF_A_KEY, text)

    def error(self, words: str) -> str:
        """The text of an error without keys, and without parts of keys."""
        words = self.text(words)
        for key in self._keys:
            words = redacted(words, key)
        return words

    def are_in(self, text: str, start: int = 0) -> bool:
        """True if a text holds a key from `start` on; long texts let other threads run."""
        if self._pattern is None or not self._may_be_in(text, start):
            return False
        starts = range(start, len(text), _AT_ONCE)
        return any(self._pattern.search(text, at, at + _AT_ONCE + _LONGEST) for at in starts)

    def _may_be_in(self, text: str, start: int) -> bool:
        """Search for marks that nearly every text lacks; a hundred times as fast."""
        return any(text.find(mark, start) >= 0 for mark in self._marks)

    def value(self, value: Any) -> Any:
        """A JSON value after `text` on all of its texts and field names."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.value(name): self.value(inner) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return type(value)([self.value(inner) for inner in value])
        return value

    def split(self, text: str) -> tuple[str, str]:
        """The text without keys up to the possible beginning of a key, and the rest."""
        if self._pattern is None:
            return text, ""
        last = 0
        if self.are_in(text):
            last = max(found.end() for found in self._pattern.finditer(text))
        start = next(self._beginnings(text, max(last, len(text) - self._longest)), len(text))
        return self.text(text[:start]), text[start:]

    def _beginnings(self, text: str, start: int) -> Iterator[int]:
        """The places from which the rest of a text may be the beginning of a key."""
        for found in self._first.finditer(text, start):
            if any(_is_beginning(form, text, found.start()) for form in self._spellings):
                yield found.start()


class RepeatedKeysStream:
    """Removes keys from a text that arrives in pieces."""

    def __init__(self, echoes: RepeatedKeys) -> None:
        self._echoes = echoes
        self._rest = ""

    def feed(self, piece: str) -> str:
        """The text that can be shown now."""
        shown, self._rest = self._echoes.split(self._rest + piece)
        return shown

    def last(self) -> str:
        """The text that is left at the end."""
        rest, self._rest = self._rest, ""
        return self._echoes.text(rest)


def _is_secret(key: str) -> bool:
    has_digit = any(map(str.isdigit, key))
    return len(key) >= (_LEAST if has_digit else _LEAST_WITHOUT_DIGITS)


def _is_beginning(spelling: _Spelling, text: str, place: int) -> bool:
    """True if a text ends with the beginning of a spelled key."""
    places = {place}
    for letter in spelling:
        if len(text) in places or any(_HALF_ESCAPE.match(text, at) for at in places):
            return True
        found = [form.match(text, at) for form in letter for at in places]
        places = {match.end() for match in found if match is not None}
        if not places:
            break
    return False


@lru_cache(16)
def _pattern(keys: tuple[str, ...]) -> re.Pattern[str]:
    """All spellings of the keys, the longest key first."""
    forms = (form for key in reversed(keys) for form in _spellings(key))
    return re.compile("|".join("".join(map(_any_of, form)) for form in forms))


@lru_cache(16)
def _first(keys: tuple[str, ...]) -> re.Pattern[str]:
    """The pattern of a place at which a spelled key may begin."""
    letters = (_any_of(form[0]) for key in keys for form in _spellings(key))
    return re.compile(f"(?={'|'.join((*letters, _HALF_ESCAPE.pattern))})", re.IGNORECASE)


def _any_of(letter: _Letter) -> str:
    return f"(?:{'|'.join(form.pattern for form in letter)})"


@lru_cache(16)
def _spellings(key: str) -> tuple[_Spelling, ...]:
    """The ways to write a key, letter by letter."""
    encoded = (tuple((_plain(letter),) for letter in form) for form in _encoded(key))
    return tuple(map(_letter, key)), *encoded


def _encoded(key: str) -> tuple[str, ...]:
    hexadecimal = key.encode("utf-8", "surrogatepass").hex()
    return *in_base64(key), hexadecimal, hexadecimal.upper()


@lru_cache(256)
def _letter(letter: str) -> _Letter:
    """A letter as it is, or escaped, perhaps more than once."""
    code = ord(letter)
    two = _digits(f"{code:02x}")
    forms = [
        rf"\\{{1,8}}(?:u00|x){two}",
        f"%(?:25)?{two}",
        f"&#(?:0{{0,4}}{code}|[xX]0{{0,4}}{two});",
    ]
    if (entity := html.escape(letter)) != letter:
        forms.append(entity)
    return (_plain(letter), *map(re.compile, forms))


@lru_cache(256)
def _plain(letter: str) -> re.Pattern[str]:
    escape = "" if letter.isalnum() else r"\\{0,8}"
    return re.compile(f"{escape}{re.escape(letter)}")


def _digits(text: str) -> str:
    """The pattern of hexadecimal digits in either case."""
    return "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in text)


NO_KEYS = RepeatedKeys(())
"""Removes nothing; for texts that no provider has seen."""
