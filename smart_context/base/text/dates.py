"""Finds the days, months and years that a text names: "in August 2023", "am 7. Mai"."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import NamedTuple

from smart_context.base.text.word_lists import word_lists

_MONTH = {
    name: int(number)
    for number, names in word_lists(Path(__file__).with_name("months.txt")).items()
    for name in names
}
_ALSO_VERBS = frozenset({"march", "may", "mars", "mart", "mei"})
_NAMES = "|".join(sorted(_MONTH, key=len, reverse=True))
_ISO = re.compile(r"(?<![\d-])((?:19|20)\d\d)[-/.](\d{1,2})(?:[-/.](\d{1,2}))?(?![\d-]|\.\d)")
_EAST_ASIAN = re.compile(
    r"(?:((?:19|20)\d\d)\s?[年년]\s?)?(\d{1,2})\s?[月월]\s?(?:(\d{1,2})\s?[日号號일])?"
    r"|((?:19|20)\d\d)\s?[年년]"
)
_WRITTEN = re.compile(
    rf"(?:\b(\d{{1,2}})(?:st|nd|rd|th|er|º|\.)?\s+(?:of\s+|de\s+)?)?(?<!\w)({_NAMES})(?!\w)\.?"
    r"(?:\s+(\d{1,2})(?:st|nd|rd|th)?\b(?!\d|:))?(?:,?\s+(?:de\s+|del\s+|of\s+)?((?:19|20)\d\d)\b)?"
)
_NUMERIC = re.compile(r"(?<![\d./-])(\d{1,2})([./-])(\d{1,2})\2((?:19|20)\d\d)(?![\d-])")
_YEAR = re.compile(r"\b(?:in|of|since|during|im jahr|en|seit|depuis|desde)\s+((?:19|20)\d\d)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """A year, month or day that a text names; parts that it doesn't name are `None`."""

    year: int | None = None
    month: int | None = None
    day: int | None = None


class NamedDate(NamedTuple):
    """A date in a text."""

    start: int  # where it begins
    end: int  # where it ends
    # its possible meanings: `3/5/2026` is the third of May, or the fifth of March
    readings: tuple[Period, ...]


def dates_in(text: str) -> list[NamedDate]:
    """The dates of a text in which a month or a day is named, or `2026年`, in order."""
    lowered = text.lower() if len(text.lower()) == len(text) else text
    found = sorted(_found(lowered))
    return [each for n, each in enumerate(found) if not n or each.start >= found[n - 1].end]


def periods_of(text: str) -> list[Period]:
    """The days, months and years that a text names, in any language of topic labels."""
    lowered = text.lower()
    clear = [each.readings[0] for each in _found(lowered) if len(each.readings) == 1]
    if clear:
        return clear
    years = (_period(match[1], None, None) for match in _YEAR.finditer(lowered))
    return [period for period in years if period is not None]


def _found(lowered: str) -> Iterator[NamedDate]:
    for m in _ISO.finditer(lowered):
        yield from _named(m, _period(m[1], m[2], m[3]))
    for m in _EAST_ASIAN.finditer(lowered):
        yield from _named(m, _period(m[1] or m[4], m[2], m[3]))
    for m in _WRITTEN.finditer(lowered):
        is_clear = m[2] not in _ALSO_VERBS or m[4] or m[1] or m[3]
        if is_clear or lowered[: m.start()].endswith(("in ", "en ", "last ", "since ", "during ")):
            yield from _named(m, _period(m[4], str(_MONTH[m[2]]), m[1] or m[3]))
    for m in _NUMERIC.finditer(lowered):
        yield from _named(m, _period(m[4], m[3], m[1]), _period(m[4], m[1], m[3]))


def _named(match: re.Match[str], *readings: Period | None) -> Iterator[NamedDate]:
    known = tuple(dict.fromkeys(period for period in readings if period is not None))
    if known:
        yield NamedDate(match.start(), match.end(), known)


def _period(year: str | None, month: str | None, day: str | None) -> Period | None:
    try:
        parts = [int(part) if part else None for part in (year, month, day)]
        date(parts[0] or 2000, parts[1] or 1, parts[2] or 1)
    except ValueError:
        return None
    return Period(year=parts[0], month=parts[1], day=parts[2])
