"""The messages of the days that a text names."""

import calendar
from collections.abc import Sequence
from datetime import UTC, date, datetime

import numpy as np
from numpy.typing import NDArray

from smart_context.base.text.dates import Period, periods_of

_AFTER_DAYS = 14.0


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
