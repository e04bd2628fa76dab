"""Tells how much a model reads, and how far it is, while nothing of its answer has come."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from smart_context.llm.models import ReadingProgress

SLOW_S = 1.0
"""Nobody is told of what a model has read sooner; most have answered by then."""


@dataclass(slots=True)
class SlowReading:
    """What a model reads for one request, in a block that ends with the first piece of its answer.

    The tokens are counted only if that takes a while. Where a server says how far it has read,
    each whole percent is told.
    """

    count: Callable[[], int]  # counts the tokens of the request; called in a thread
    tell: Callable[
        [ReadingProgress, float], None
    ]  # gets what is read, and the seconds since it began
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
        """The model has read all; further calls change nothing."""
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()

    def told(self, reading: ReadingProgress) -> None:
        """The server has said how far it is."""
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
