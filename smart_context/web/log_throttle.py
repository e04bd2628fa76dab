"""Limits how often the same trouble is logged."""

import time
from collections.abc import Callable

from smart_context.web.limits import QUIET_S


class LogThrottle:
    """Counts events, and lets a log line through now and then.

    Args:
        quiet_s: Time between two lines.
        clock: The time in seconds.
    """

    def __init__(
        self, quiet_s: float = QUIET_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._quiet_s = quiet_s
        self._clock = clock
        self._count = 0
        self._next_line: float | None = None

    def count(self) -> int:
        """The number of events since the last line if a line is due, else 0."""
        self._count += 1
        now = self._clock()
        if self._next_line is not None and now < self._next_line:
            return 0
        self._next_line = now + self._quiet_s
        count, self._count = self._count, 0
        return count
