"""Decides if a failed request is retried, and after which wait."""

import logging
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from smart_context.llm.failures import (
    EndpointFailure,
)

T = TypeVar("T")

LONGEST_WAIT_S = 60.0
"""The longest wait before a retry. If an endpoint asks for more, the user is told the time."""

_FIRST_WAIT_S = 0.5
_LONGEST_BACKOFF_S = 8.0
_TRANSIENT = frozenset({408, 409, 429})
_SERVER_ERROR = 500


_logger = logging.getLogger(__name__)


def retry_wait_s(
    failure: EndpointFailure, *, retries: int, max_retries: int, jitter: float
) -> float | None:
    """Seconds to wait before the next retry; `None` for no retry.

    Retried: 408, 409, 429, 5xx, and connections that failed or broke. Not retried: other
    refusals, invalid answers, and timeouts, since the endpoint is still busy with the first
    request.

    Args:
        jitter: In [0, 1). Spreads clients that failed together; it shortens a wait by at most a
            quarter, and never one that the endpoint asked for.
    """
    if retries >= max_retries or not _is_transient(failure):
        return None
    if failure.retry_after_s is not None:
        return failure.retry_after_s if failure.retry_after_s <= LONGEST_WAIT_S else None
    backoff: float = min(_FIRST_WAIT_S * 2**retries, _LONGEST_BACKOFF_S)
    return backoff * (1 - jitter / 4)


def _is_transient(failure: EndpointFailure) -> bool:
    if failure.trouble == "refused":
        status = failure.status or 0
        return status in _TRANSIENT or status >= _SERVER_ERROR
    return failure.trouble in {"unreachable", "silent", "broken"}


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """The wait in seconds that `Retry-After` asks for, as a number or an HTTP date.

    Args:
        headers: The answer's headers; names are compared as the mapping does.
        now: The current time, with a time zone.

    Returns:
        At least 0, or `None` if the header is missing or invalid.
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
    except (ValueError, OverflowError):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())
