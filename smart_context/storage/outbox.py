"""Messages that wait to be sent to other processes, and the log of lost connections."""

import asyncio
import json
import logging
from collections import deque
from collections.abc import Awaitable, Callable

from smart_context.base.errors import StoreFailed
from smart_context.base.values import JsonObject

BATCH_S = 0.02
"""Seconds for which messages are gathered, so that a fast answer costs few writes."""

_MOST_WAITING = 20_000
_AGAIN_S = 1.0
_SETTLE_S = 1.0


class MessageOutbox:
    """Waiting messages in order; the oldest are dropped if too many wait."""

    def __init__(self) -> None:
        self._waiting: deque[JsonObject] = deque(maxlen=_MOST_WAITING)
        self._has_some = asyncio.Event()
        self._is_empty = asyncio.Event()
        self._is_empty.set()
        self._is_running = False

    def add(self, message: JsonObject) -> None:
        """Add a message."""
        self._waiting.append(message)
        self._is_empty.clear()
        self._has_some.set()

    async def settle(self) -> None:
        """Wait until all are sent, for a second at most; don't wait if `run` is not running."""
        if self._is_running:
            try:
                async with asyncio.timeout(_SETTLE_S):
                    await self._is_empty.wait()
            except TimeoutError:
                return

    async def run(self, tell: Callable[[str], Awaitable[None]]) -> None:
        """Send batches, as JSON, until cancelled; a failed batch is sent again."""
        self._is_running = True
        try:
            while True:
                await self._has_some.wait()
                await asyncio.sleep(BATCH_S)
                await self._send(tell)
        finally:
            self._is_running = False

    async def _send(self, tell: Callable[[str], Awaitable[None]]) -> None:
        batch = [*self._waiting]
        try:
            await tell(json.dumps(batch))
        except StoreFailed:
            await asyncio.sleep(_AGAIN_S)
            return
        for _ in batch:
            self._waiting.popleft()
        if not self._waiting:
            self._has_some.clear()
            self._is_empty.set()


class ConnectionLog:
    """Logs once when messages of others stop arriving, and once when they arrive again."""

    def __init__(self, logger: logging.Logger, what: str) -> None:
        self._logger = logger
        self._what = what
        self._is_lost = False

    def lost(self, error: Exception) -> None:
        """Note that no messages arrive for now."""
        if not self._is_lost:
            self._logger.warning("%s are not heard for now: %s", self._what, error)
        self._is_lost = True

    def goes_on(self) -> None:
        """Note that all messages arrive."""
        if self._is_lost:
            self._logger.warning("%s are heard again", self._what)
        self._is_lost = False
