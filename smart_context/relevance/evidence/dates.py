"""Finds the days, months and years that a text names: "in August 2023", "am 7. Mai"."""

import calendar
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

import numpy as np
from numpy.typing import NDArray

_MONTHS = (
    "january januar janvier enero",
    "february februar février fevrier febrero",
    "march märz maerz mars marzo",
    "april avril abril",
    "may mai mayo",
    "june juni juin junio",
    "july juli juillet julio",
    "august août aout agosto",
    "september septembre septiembre",
    "october oktober octobre octubre",
    "november novembre noviembre",
    "december dezember décembre decembre diciembre",
)
_MONTH = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_ALSO_VERBS = frozenset({"march", "may", "mars"})
_NAMES = "|".join(sorted(_MONTH, key=len, reverse=True))
_ISO = re.compile(r"\b((?:19|20)\d\d)-(\d{1,2})(?:-(\d{1,2}))?\b")
_EAST_ASIAN = re.compile(r"(?:((?:19|20)\d\d)年)?(\d{1,2})月(?:(\d{1,2})[日号])?|((?:19|20)\d\d)年")
_WRITTEN = re.compile(
    rf"(?:\b(\d{{1,2}})(?:st|nd|rd|th|er|\.)?\s+(?:of\s+|de\s+)?)?\b({_NAMES})\b"
    r"(?:\s+(\d{1,2})(?:st|nd|rd|th)?\b(?!\d))?(?:,?\s+(?:de\s+|of\s+)?((?:19|20)\d\d)\b)?"
)
_YEAR = re.compile(r"\b(?:in|of|since|during|im jahr|en|seit|depuis|desde)\s+((?:19|20)\d\d)\b")
_AFTER_DAYS = 14.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """A year, month or day that a text names; parts that it doesn't name are `None`."""

    year: int | None = None
    month: int | None = None
    day: int | None = None


def periods_of(text: str) -> list[Period]:
    """The days, months and years that a text names, in any language of topic labels."""
    lowered = text.lower()
    found = [
        _period(year, month, day)
        for year, month, day in (
            *((m[1], m[2], m[3]) for m in _ISO.finditer(lowered)),
            *((m[1] or m[4], m[2], m[3]) for m in _EAST_ASIAN.finditer(lowered)),
            *(
                (m[4], str(_MONTH[m[2]]), m[1] or m[3])
                for m in _WRITTEN.finditer(lowered)
                if m[2] not in _ALSO_VERBS or m[4] or m[1] or m[3] or _is_introduced(lowered, m)
            ),
        )
    ]
    if not found:
        found = [_period(match[1], None, None) for match in _YEAR.finditer(lowered)]
    return [period for period in found if period is not None]


def days_of(stamps: Sequence[str]) -> NDArray[np.float32]:
    """Shape (n,): days since 1970 of ISO 8601 times, NaN where unknown."""
    return np.array([_day(stamp) for stamp in stamps], dtype=np.float32)


def dated(text: str, days: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
    """Shape (n,): 1 for messages of the days that the text names, less for the two weeks after.

    People often report events some days later. `None` if the text names no day, or if no message
    has a time.
    """
    if days is None or not (periods := periods_of(text)):
        return None
    known = days[days > 0]  # programs without a clock write 1970, or year 1
    if not known.size:
        return None
    years = range(_year_of(known.min()) - 1, _year_of(known.max()) + 1)
    best = np.zeros(len(days), dtype=np.float32)
    for period in periods:
        for begin, end in _spans(period, years):
            late = (days - end).clip(0) + (begin - days).clip(0) * 1e3
            np.fmax(best, 1 - late / _AFTER_DAYS, out=best)  # ignores NaN: unknown days
    return best


def _spans(period: Period, of_chat: Sequence[int]) -> list[tuple[float, float]]:
    """The first day and the day after the last one, for the named year or each year of the chat."""
    years = [period.year] if period.year else of_chat
    spans: list[tuple[float, float]] = []
    for year in years:
        month, day = period.month, period.day
        days_of_month = calendar.monthrange(year, month or 1)[1]
        if day and day > days_of_month:
            continue
        begin = float(date(year, month or 1, day or 1).toordinal() - _EPOCH)
        spans.append((begin, begin + (1 if day else days_of_month if month else 365)))
    return spans


_EPOCH = date(1970, 1, 1).toordinal()


def _year_of(day: np.float32) -> int:
    return date.fromordinal(_EPOCH + int(day)).year


def _is_introduced(text: str, match: re.Match[str]) -> bool:
    return text[: match.start()].endswith(("in ", "en ", "last ", "since ", "during "))


def _period(year: str | None, month: str | None, day: str | None) -> Period | None:
    try:
        parts = [int(part) if part else None for part in (year, month, day)]
        date(parts[0] or 2000, parts[1] or 1, parts[2] or 1)
    except ValueError:
        return None
    return Period(year=parts[0], month=parts[1], day=parts[2])


def _day(stamp: str) -> float:
    if not stamp:
        return np.nan
    try:
        moment = datetime.fromisoformat(stamp)
    except ValueError:
        return np.nan
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp() / 86_400
