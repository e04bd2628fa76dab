"""What other processes tell through the database: LISTEN, on a connection of its own.

A notification holds less than 8,000 bytes, so it names what happened and no more. Some are lost
while the connection is away: each subscriber is called once it is back, to find out for itself.
"""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import psycopg

from smart_context.base.errors import StoreFailed
from smart_context.storage.outbox import Hearing
from smart_context.storage.postgres.database import ANSWER_S, CONNECT_S, KEPT_ALIVE, Database

Heard = Callable[[str], Awaitable[None]]
"""Called with the text of each notification, in order."""

Caught = Callable[[], Awaitable[None]]
"""Called when notifications arrive from now on, and earlier ones may have been lost."""

CHECK_S = 4.0
"""How often a silent connection is asked whether it is alive."""

_AGAIN_S = 1.0


class Listener:
    """Listens while somebody has subscribed.

    Attributes:
        node: Names this process among all that use the database.
    """

    def __init__(self, database: Database) -> None:
        self.node = secrets.token_hex(6)
        self._database = database
        self._subscribed: dict[str, tuple[Heard, Caught]] = {}
        self._changed = asyncio.Event()
        self._running: asyncio.Task[None] | None = None
        self._hearing = Hearing(logging.getLogger(__name__), "changes by other processes")

    async def listen(self, channel: str, heard: Heard, caught: Caught) -> None:
        """Hear what is told on a channel until cancelled; one listener for each channel."""
        self._subscribed[channel] = heard, caught
        self._changed.set()
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        try:
            await asyncio.shield(self._running)
        finally:
            del self._subscribed[channel]
            self._changed.set()
            if not self._subscribed:
                self._running.cancel()
                await asyncio.wait([self._running])
                self._running = None

    async def _run(self) -> None:
        while True:
            try:
                await self._database.in_thread(self._database.prepare)
                await self._connected()
            except (psycopg.Error, OSError, TimeoutError, StoreFailed) as error:
                self._hearing.lost(error)
                await asyncio.sleep(_AGAIN_S)

    async def _connected(self) -> None:
        connection = await psycopg.AsyncConnection.connect(
            self._database.url, autocommit=True, **KEPT_ALIVE
        )
        listening: set[str] = set()
        try:
            while True:
                self._changed.clear()
                async with asyncio.timeout(ANSWER_S):
                    for channel in self._subscribed.keys() - listening:
                        await connection.execute(f"LISTEN {channel}")  # our own names only
                new = self._subscribed.keys() - listening
                listening = {*self._subscribed}
                for channel in new:
                    await self._subscribed[channel][1]()
                self._hearing.goes_on()
                await self._hear(connection)
        finally:
            with suppress(psycopg.Error, TimeoutError):
                async with asyncio.timeout(CONNECT_S):
                    await connection.close()

    async def _hear(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """Pass notifications on until somebody subscribes, or for some seconds."""
        async for notification in connection.notifies(timeout=CHECK_S, stop_after=1):
            if subscribed := self._subscribed.get(notification.channel):
                await subscribed[0](notification.payload)
        async with asyncio.timeout(ANSWER_S):
            await connection.execute("SELECT 1")
