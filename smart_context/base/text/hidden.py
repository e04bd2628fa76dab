"""Finds invisible characters in a text, which can hide words or reverse them.

Most such characters have a use: they join emoji, shape Persian and Indic words, select the form of
a character, keep Hebrew punctuation in place. The characters next to them, and the tables of
`base/text/unicode_tables.py`, show if they have one here. A use without a visible effect does not
count: it could spell a message.
"""

import functools
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from smart_context.base.text import unicode_tables as table

_FLAGS = "|".join(
    "".join(chr(0xE0000 + ord(letter)) for letter in region) for region in table.FLAG_REGIONS
)
_RUN = re.compile(f"\U0001f3f4(?:{_FLAGS})\U000e007f|(?P<run>[{table.UNSEEN}]+)")
_UNSEEN = re.compile(f"[{table.UNSEEN}]")
_RIGHT_TO_LEFT = re.compile(f"[{table.RIGHT_TO_LEFT}]")
_MOST_MARKS = 4
"""Most marks that are skipped to find the letter under them."""

_DIRECTIONS_IN_A_LINE = 8
_VIRAMA = 9
_JOINER, _NON_JOINER = "\u200d", "\u200c"
_TEXT_STYLE, _EMOJI_STYLE, _KEYCAP = "\ufe0e", "\ufe0f", "\u20e3"


def hidden_spans(text: str) -> Iterator[tuple[int, int]]:
    """The ranges `(start, end)` of invisible characters without a use."""
    # Looking for a single character is several times as fast, and most texts hold none.
    if text.isascii() or (first := _UNSEEN.search(text)) is None:
        return
    lines = _DirectedLines(text)
    for found in _RUN.finditer(text, max(first.start() - 1, 0)):  # a flag begins before its tags
        if found["run"] is not None:
            start = _end_of_use(text, *found.span(), lines)
            if start < found.end():
                yield start, found.end()


def _end_of_use(text: str, start: int, end: int, lines: "_DirectedLines") -> int:
    """The position in a run where hidden characters begin; `end` if nothing is hidden."""
    base = _Neighbours(text, start, end)
    position = start
    if _is_selected(base.before, text[position], text[position + 1 : position + 2]):
        position += 1  # a joiner of emoji may follow
    if end - position != 1:
        return min(position, end)
    if text[position] in "\u200e\u200f\u061c":
        return end if base.separates and lines.may_turn(position) else position
    is_used = _USES.get(text[position])
    return end if is_used is not None and is_used(base) else position


@dataclass(frozen=True, slots=True)
class _Neighbours:
    """The characters before and after a run."""

    text: str
    start: int
    end: int

    @property
    def before(self) -> str:
        return self.text[self.start - 1] if self.start else ""

    @property
    def after(self) -> str:
        return self.text[self.end : self.end + 1]

    @property
    def letter(self) -> str:
        """The letter before, under its marks."""
        for position in range(self.start - 1, max(self.start - 2 - _MOST_MARKS, -1), -1):
            if unicodedata.category(self.text[position]) not in {"Mn", "Me"}:
                return self.text[position]
        return ""

    @property
    def separates(self) -> bool:
        """True at the edge of a word; inside one, a direction mark has no effect."""
        return not (self.before.isalpha() and self.after.isalpha())


class _DirectedLines:
    """Finds the lines of a text in which direction marks have a use; reads each line once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._end = -1
        self._left = 0

    def may_turn(self, position: int) -> bool:
        """True if a direction mark has a use there: the first eight in a line with such letters."""
        if position > self._end:
            start = self._text.rfind("\n", 0, position) + 1
            end = self._text.find("\n", position)
            self._end = len(self._text) if end < 0 else end
            turns = _RIGHT_TO_LEFT.search(self._text, start, self._end)
            self._left = _DIRECTIONS_IN_A_LINE if turns else 0
        self._left -= 1
        return self._left >= 0


def _is_selected(before: str, selector: str, after: str) -> bool:
    """True if a selector selects the form of the character before it."""
    if selector in {_TEXT_STYLE, _EMOJI_STYLE}:
        if before and before in "0123456789#*":
            return after == _KEYCAP
        return _is_pictograph(before) or _category(before) in {"So", "Sm"}
    if "\ufe00" <= selector <= "\ufe02":
        return _category(before) == "Sm" or _is_in(table.STANDARD_VARIANTS, before)
    if "\U000e0100" <= selector <= "\U000e011f":
        return _is_in(table.IDEOGRAPHS, before)
    return False


def _joins(base: _Neighbours) -> bool:
    if _is_pictograph(base.before):
        return _is_pictograph(base.after)
    is_joining = _is_in(table.JOINING_LETTERS, base.letter)
    return _is_at_virama(base) or is_joining != _is_in(table.JOINING_LETTERS, base.after)


def _separates(base: _Neighbours) -> bool:
    return _is_at_virama(base) or _is_in(table.JOINING_LETTERS, base.letter)


def _is_at_virama(base: _Neighbours) -> bool:
    if base.before and unicodedata.combining(base.before) == _VIRAMA:
        return True
    is_before = bool(base.after) and unicodedata.combining(base.after) == _VIRAMA
    return is_before and base.before.isalpha()


def _breaks_a_line(base: _Neighbours) -> bool:
    return _is_in(table.UNSPACED, base.before) and _is_in(table.UNSPACED, base.after)


def _orders_marks(base: _Neighbours) -> bool:
    return bool(base.after) and _category(base.after) == "Mn" and bool(base.letter)


def _is_in_braille(base: _Neighbours) -> bool:
    return "\u2800" < base.before <= "\u28ff" or "\u2800" < base.after <= "\u28ff"


def _shapes_mongolian(base: _Neighbours) -> bool:
    return _is_in(table.MONGOLIAN_LETTERS, base.before)


_USES: Mapping[str, Callable[[_Neighbours], bool]] = {
    _JOINER: _joins,
    _NON_JOINER: _separates,
    "\u200b": _breaks_a_line,
    "\u034f": _orders_marks,
    "\u2800": _is_in_braille,
    **dict.fromkeys("\u180b\u180c\u180d\u180e\u180f", _shapes_mongolian),
}


def _is_pictograph(character: str) -> bool:
    return _is_in(table.PICTOGRAPHS, character)


def _is_in(table_pattern: str, character: str) -> bool:
    return _compiled(table_pattern).match(character) is not None


@functools.cache
def _compiled(table_pattern: str) -> re.Pattern[str]:
    """Compiled on first use: most texts don't need it."""
    return re.compile(table_pattern)


def _category(character: str) -> str:
    return unicodedata.category(character) if character else ""
