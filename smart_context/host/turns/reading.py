"""Tells the tokens that a model reads and its progress, until the first piece of its answer."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from smart_context.llm.models import ReadingProgress

SLOW_S = 1.0
"""Time before the first report on a model's reading; most models have answered by then."""


@dataclass(slots=True)
class SlowReading:
    """Reports what a model reads for one request, in a block until the first piece of its answer.

    The tokens are counted only if reading takes a while. If the server reports its progress, each
    whole percent is told.
    """

    count: Callable[[], int]  # counts the tokens of the request; called in a thread
    # gets the reading progress, and the seconds since it began
    tell: Callable[[ReadingProgress, float], None]
    _begun: float = field(default_factory=time.monotonic, init=False)
    _timer: asyncio.TimerHandle | None = field(default=None, init=False)
    _percent: int | None = field(default=None, init=False)
    _is_over: bool = field(default=False, init=False)

    def __enter__(self) -> Self:
        self._timer = asyncio.get_running_loop().call_later(SLOW_S, self._count)
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Stop the reports, since the model has read all; further calls do nothing."""
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()

    def told(self, reading: ReadingProgress) -> None:
        """Take in the progress that the server reports."""
        if reading.percent != self._percent and not self._is_over:
            self._percent = reading.percent
            self._tell(reading)

    def _count(self) -> None:
        counted = asyncio.get_running_loop().run_in_executor(None, self.count)
        counted.add_done_callback(self._counted)

    def _counted(self, counted: "asyncio.Future[int]") -> None:
        failed = counted.cancelled() or counted.exception() is not None
        if not (self._is_over or failed or self._percent is not None):  # a server's count is exact
            self._tell(ReadingProgress(tokens=counted.result()))

    def _tell(self, reading: ReadingProgress) -> None:
        self.tell(reading, time.monotonic() - self._begun)
