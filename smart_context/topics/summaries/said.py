"""The content of messages in a form in which a summary's claims are looked up. Pure."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from smart_context.base.text import word_lists as lists
from smart_context.base.text.dates import Period, dates_in
from smart_context.base.text.languages import main_language
from smart_context.chat.compaction import sent_text
from smart_context.chat.messages import Message

_WORDS_FILE = Path(lists.__file__).with_name("number_words.txt")
_VALUES = {
    word: int(value) for value, words in lists.word_lists(_WORDS_FILE).items() for word in words
}
_FROM_HUNDRED = 100
_DIGITS = re.compile(r"\d+(?:[.,'\u2019\u00a0\u202f ]\d{3})+(?![\d])(?:[.,]\d+)?|\d+(?:[.,]\d+)*")
_GLUED = re.compile(r"[^\W\d_]{0,3}")
_MULTIPLES = {"k": 1e3, "m": 1e6, "bn": 1e9, "万": 1e4, "億": 1e8, "亿": 1e8, "萬": 1e4, "만": 1e4}
_WORD = re.compile(r"[^\W\d_]+(?:[\u0900-\u0dff]+[^\W\d_]*)*")
_HAN_DIGITS = {each: n for n, each in enumerate("零一二三四五六七八九")}
_HAN_DIGITS |= {"\u3007": 0, "两": 2, "兩": 2}
_HAN_UNITS = {"十": 10, "百": 100, "千": 1_000}
_HAN_MYRIADS = {"万": 10_000, "萬": 10_000, "亿": 10**8, "億": 10**8}
_HAN = re.compile(r"(?<!\d)[零\u3007一二三四五六七八九两兩十百千万萬亿億]+")
_BETWEEN_DIGITS = re.compile(r"\D")
_BETWEEN_NUMBERS = re.compile(r"[\s-]+(?:(?:and|et|y|e)[\s-]+)?")
_GLUES = ("und", "en", "ën")
"""Links between the parts of German and Dutch numbers, as in `vierundzwanzig`."""

_LONGEST = 2 * max(map(len, _VALUES)) + max(map(len, _GLUES))


class NamedNumber(NamedTuple):
    """A number in a text."""

    start: int  # its first position
    end: int  # the position after it
    # its possible values: `1.234` is a thousand and something, or little more than one
    readings: frozenset[float]
    is_word: bool = False  # it is written in words


def numbers_in(text: str) -> Iterator[NamedNumber]:
    """The numbers of a text, in digits first; those within words and codes, too."""
    for found in _DIGITS.finditer(text):
        after = _GLUED.match(text, found.end())
        unit = after[0].casefold() if after else ""
        readings = _readings(found[0])
        if factor := _MULTIPLES.get(unit) or _MULTIPLES.get(unit[:1] if unit[:1] > "z" else ""):
            readings |= {value * factor for value in readings}
        yield NamedNumber(found.start(), found.end(), frozenset(readings))
    yield from _in_words(text)
    for found in _HAN.finditer(text):
        yield NamedNumber(found.start(), found.end(), frozenset({_of_han(found[0])}), is_word=True)


def _readings(digits: str) -> set[float]:
    plain = "".join(str(unicodedata.digit(c)) if c.isdigit() else c for c in digits)
    parts = _BETWEEN_DIGITS.split(plain)
    values = {float("".join(parts))} if all(len(part) == 3 for part in parts[1:]) else set()  # noqa: PLR2004 - groups of thousands
    if len(parts) == 1:
        return {float(plain)}
    values.add(float(f"{''.join(parts[:-1])}.{parts[-1]}"))
    return values


def _in_words(text: str) -> Iterator[NamedNumber]:
    run: list[tuple[int, int, int]] = []
    for found in _WORD.finditer(text):
        word = found[0].casefold()
        value = _value(word)
        joins = bool(run) and _BETWEEN_NUMBERS.fullmatch(text, run[-1][1], found.start())
        if run and not (joins and value is not None):
            if word in {"and", "et", "y", "e"} and value is None:
                continue
            yield _joined(run)
            run = []
        if value is not None:
            run.append((found.start(), found.end(), value))
    if run:
        yield _joined(run)


def _value(word: str) -> int | None:
    if word in _VALUES:
        return _VALUES[word]
    if not word.endswith("ig") or len(word) > _LONGEST:
        return None
    for end in range(1, len(word)):
        for glue in _GLUES if word[:end] in _VALUES else ():
            if word.startswith(glue, end) and (tens := _VALUES.get(word[end + len(glue) :])):
                return _VALUES[word[:end]] + tens
    return None


def _joined(run: list[tuple[int, int, int]]) -> NamedNumber:
    total = part = 0
    for _, _, value in run:
        if value < _FROM_HUNDRED:
            part = part * value if part == 4 and value == 20 else part + value  # noqa: PLR2004 - quatre-vingts
        elif value == _FROM_HUNDRED:
            part = max(part, 1) * value
        else:
            total, part = total + max(part, 1) * value, 0
    whole = frozenset({float(total + part)})
    return NamedNumber(run[0][0], run[-1][1], whole, is_word=True)


def _of_han(word: str) -> float:
    if not any(each in _HAN_UNITS or each in _HAN_MYRIADS for each in word):
        return float("".join(str(_HAN_DIGITS[each]) for each in word))
    total = part = digit = 0
    for each in word:
        if each in _HAN_DIGITS:
            digit = _HAN_DIGITS[each]
        elif each in _HAN_UNITS:
            part, digit = part + max(digit, 1) * _HAN_UNITS[each], 0
        else:
            total, part, digit = total + max(part + digit, 1) * _HAN_MYRIADS[each], 0, 0
    return float(total + part + digit)


MOST_READ = 2_000_000
"""The most characters of the messages that are read."""

TIME = re.compile(r"(?<![\d:])(\d{1,2})[:.h](\d{2})(?!\d)\s?([ap])?", re.IGNORECASE)
"""A time of day: hour, minute, and the first letter of am or pm."""

_SEPARATORS = re.compile(r"[\W_]+")
_SHORT = 3
_LANGUAGE_FROM = 20_000


class SaidTexts:
    """The content of messages, prepared for looking up claims."""

    def __init__(self, messages: Sequence[Message]) -> None:
        texts = [text for message in messages for text in _texts_of(message)]
        self.text = unicodedata.normalize("NFC", "\n".join(texts))[:MOST_READ]
        self._days = {message.created_at[:10] for message in messages}

    @cached_property
    def folded(self) -> str:
        """The text for comparison: one form of each letter, no punctuation."""
        return f" {folded(self.text)} "

    @cached_property
    def run_on(self) -> str:
        """The folded text without spaces."""
        return self.folded.replace(" ", "")

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the folded text."""
        return frozenset(self.folded.split())

    @cached_property
    def beginnings(self) -> frozenset[str]:
        """The beginnings of its words, of at least three characters."""
        return frozenset(word[:end] for word in self.words for end in range(3, len(word) + 1))

    @cached_property
    def numbers(self) -> frozenset[float]:
        """The values that it names."""
        return frozenset(v for number in numbers_in(self.text) for v in number.readings)

    @cached_property
    def times(self) -> frozenset[tuple[int, int]]:
        """The times of day, on a dial of twelve hours."""
        return frozenset((int(m[1]) % 12, int(m[2])) for m in TIME.finditer(self.text))

    @cached_property
    def dates(self) -> frozenset[Period]:
        """The dates that it names, and those on which it was said."""
        named = (reading for each in dates_in(self.text) for reading in each.readings)
        days = (
            reading for day in self._days for each in dates_in(day) for reading in each.readings
        )
        return frozenset((*named, *days))

    @cached_property
    def language(self) -> str:
        """Its main language; empty if unknown."""
        return main_language([self.text[:_LANGUAGE_FROM]])

    def has(self, literal: str) -> bool:
        """True if a text occurs, in any case, with any spaces and punctuation."""
        wanted = folded(literal)
        if not wanted or f" {wanted} " in self.folded:
            return True
        if len(wanted) <= _SHORT and wanted.isascii():  # scripts without spaces have no borders
            return _stands_alone(wanted, self.folded)
        return wanted.replace(" ", "") in self.run_on


def _stands_alone(wanted: str, text: str) -> bool:
    """True if no Latin letter or digit is next to it; the text begins and ends with a space."""
    at = text.find(wanted)
    while at >= 0:
        around = text[at - 1], text[at + len(wanted)]
        if not any("a" <= each <= "z" or each.isdecimal() for each in around):
            return True
        at = text.find(wanted, at + 1)
    return False


def folded(text: str) -> str:
    """A text in one form of each letter, with single spaces in place of punctuation."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(c for c in plain if not ("\u0300" <= c <= "\u036f"))
    return _SEPARATORS.sub(" ", unicodedata.normalize("NFC", bare).replace("\u0640", "")).strip()


def _texts_of(message: Message) -> Iterator[str]:
    yield sent_text(message)
    yield from (str(each.get("name", "")) for each in message.files)
    yield from (f"{each.get('title', '')} {each.get('url', '')}" for each in message.links)
