"""Which failed requests are retried, and after how long."""

import asyncio
import logging
import math
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from smart_context.base.config import EndpointSettings
from smart_context.llm.failures import EndpointFailure, RequestFailed
from smart_context.llm.waits import tell_wait

T = TypeVar("T")

LONGEST_WAIT_S = 60.0
"""No retry for an endpoint that asks for more: the user is told how long to wait instead."""

_FIRST_WAIT_S = 0.5
_LONGEST_BACKOFF_S = 8.0
_TRANSIENT = frozenset({408, 409, 429})
_SERVER_ERROR = 500


_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """Sends requests until one succeeds or another try would not help.

    Attributes:
        sleep: Waits between requests.
        jitter: Gives a number in [0, 1) for each wait.
    """

    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    jitter: Callable[[], float] = random.random

    async def run(
        self,
        attempt: Callable[[], Awaitable[T]],
        settings: EndpointSettings,
        before_waiting: Callable[[], Awaitable[None]],
    ) -> T:
        """The result of the first attempt that succeeds.

        Raises:
            RequestFailed: If the last attempt fails, or a retry would not help.
        """
        retries = 0
        while True:
            try:
                return await attempt()
            except RequestFailed as error:
                failure = error.failure
                wait = wait_s(
                    failure,
                    retries=retries,
                    max_retries=settings.max_retries,
                    jitter=self.jitter(),
                )
                if wait is None:
                    raise
            await before_waiting()
            place, trouble = settings.base_url, failure.trouble
            _logger.info("%s: asking again in %.1f s (%s)", place, wait, trouble)
            if trouble == "refused":  # it is there, but busy
                tell_wait(wait)
            await self.sleep(wait)
            retries += 1


def wait_s(
    failure: EndpointFailure, *, retries: int, max_retries: int, jitter: float
) -> float | None:
    """Seconds to wait before the next retry; `None` for no retry.

    Retried: 408, 409, 429, 5xx, and connections that failed or broke. Not retried: other
    refusals, invalid answers, and timeouts, since the endpoint is still busy with the first
    request.

    Args:
        failure: The failure of the last request.
        retries: The number of retries so far.
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
