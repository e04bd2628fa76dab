"""Messages between processes by LISTEN and NOTIFY: notified by number, read from a table."""

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress

from smart_context.base.errors import StoreFailed
from smart_context.base.values import JsonObject
from smart_context.storage.outbox import Outbox
from smart_context.storage.ports import Heard
from smart_context.storage.postgres.database import Connection, Database
from smart_context.storage.postgres.listening import Listener

CHANNEL = "smart_context_events"

_MOST_AT_ONCE = 500
_FORGET = "DELETE FROM event WHERE told_at < clock_timestamp() - interval '15 minutes'"
_FORGET_EACH_S = 300.0


class PostgresEvents:
    """Messages by way of the database; satisfies `Events`."""

    is_shared = True

    def __init__(self, database: Database, listener: Listener) -> None:
        self._database = database
        self._listener = listener
        self._outbox = Outbox()
        self._read_to: int | None = None

    def send(self, message: JsonObject) -> None:
        """Tell the others soon."""
        self._outbox.add(message)

    async def settle(self) -> None:
        """Wait until what was sent has gone; a second at most."""
        await self._outbox.settle()

    async def listen(self, heard: Heard, begun: Callable[[], None]) -> None:
        """Send what there is, and hear the others, until cancelled."""
        self._read_to = None

        async def notified(number: str) -> None:
            if self._read_to is not None and int(number) > self._read_to:
                await self._read(heard)

        async def caught() -> None:
            if self._read_to is None:
                self._read_to = await self._database.do(_newest)
                begun()
            await self._read(heard)

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._outbox.run(self._tell))
            tasks.create_task(self._forget())
            tasks.create_task(self._listener.listen(CHANNEL, notified, caught))

    async def _tell(self, body: str) -> None:
        await self._database.do(
            lambda connection: connection.execute(
                "SELECT tell(%s, %s)", (self._listener.node, body)
            )
        )

    async def _read(self, heard: Heard) -> None:
        is_more = True
        while is_more:
            after = self._read_to or 0
            found = await self._database.do(
                lambda connection: _told_since(connection, after),  # noqa: B023
                repeatable=True,
            )
            is_more = len(found) == _MOST_AT_ONCE
            for number, node, body in found:
                self._read_to = number
                if node != self._listener.node:
                    for message in json.loads(body):
                        heard(message)

    async def _forget(self) -> None:
        while True:
            await asyncio.sleep(_FORGET_EACH_S)
            with suppress(StoreFailed):
                await self._database.do(lambda connection: connection.execute(_FORGET))


def _newest(connection: Connection) -> int:
    found = connection.execute("SELECT coalesce(max(number), 0) FROM event").fetchone()
    return int(found[0]) if found else 0


def _told_since(connection: Connection, after: int) -> list[tuple[int, str, str]]:
    return connection.execute(
        "SELECT number, node, body FROM event WHERE number > %s ORDER BY number LIMIT %s",
        (after, _MOST_AT_ONCE),
    ).fetchall()
