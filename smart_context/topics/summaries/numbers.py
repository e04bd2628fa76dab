"""The numbers that a text names, in digits of any script and in words of many languages."""

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from smart_context.base.text import word_lists as lists

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
"""Between the parts of German and Dutch numbers, as in `vierundzwanzig`."""

_LONGEST = 2 * max(map(len, _VALUES)) + max(map(len, _GLUES))


class NamedNumber(NamedTuple):
    """A number in a text."""

    start: int  # where it begins
    end: int  # where it ends
    # what it may mean: `1.234` is a thousand and something, or little more than one
    readings: frozenset[float]
    is_word: bool = False  # it is in words


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
