"""When a failed request is made again, and after how long (contract A4)."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from smart_context.llm.failures import Failure

LONGEST_WAIT_S = 60.0
"""An endpoint that asks for more is not asked again: the person is told how long instead."""

_FIRST_WAIT_S = 0.5
_LONGEST_BACKOFF_S = 8.0
_TRANSIENT = frozenset({408, 409, 429})
_SERVER_ERROR = 500


def wait_s(failure: Failure, *, retries: int, max_retries: int, jitter: float) -> float | None:
    """Seconds to wait before the next request; `None` when there shall be none.

    Made again: 408, 409, 429, 5xx, and connections that failed or broke. Not made again: other
    refusals, answers that make no sense, and timeouts, since the endpoint is still busy with the
    first request then.

    Args:
        failure: What the last request came to.
        retries: How many requests were made again already.
        max_retries: How many may be.
        jitter: In [0, 1). Spreads clients that failed together; it shortens a wait by at most a
            quarter, and never one that the endpoint asked for.
    """
    if retries >= max_retries or not _is_transient(failure):
        return None
    if failure.retry_after_s is not None:
        return failure.retry_after_s if failure.retry_after_s <= LONGEST_WAIT_S else None
    backoff: float = min(_FIRST_WAIT_S * 2**retries, _LONGEST_BACKOFF_S)
    return backoff * (1 - jitter / 4)


def _is_transient(failure: Failure) -> bool:
    if failure.trouble == "refused":
        status = failure.status or 0
        return status in _TRANSIENT or status >= _SERVER_ERROR
    return failure.trouble in {"unreachable", "broken"}


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """What `Retry-After` asks for, in seconds from now: a number or an HTTP date.

    Args:
        headers: Of the answer; names compared as the mapping does.
        now: The present, with a time zone.

    Returns:
        At least 0, or `None` when the header is missing or can't be read.
    """
    value = headers.get("retry-after", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        return _until(value, now)
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _until(value: str, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())
