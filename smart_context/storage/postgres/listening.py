"""Messages between processes by LISTEN and NOTIFY, received on a connection of its own.

A notification holds less than 8,000 bytes, so it only names the event. Notifications are lost while
the connection is broken, so each subscriber is called when it is back, to look up what it missed.
"""

import asyncio
import json
import logging
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import psycopg

from smart_context.base.errors import StoreFailed
from smart_context.base.values import JsonObject
from smart_context.chat.messages import ChatId
from smart_context.storage.listeners import ReportedChanges
from smart_context.storage.outbox import ConnectionLog, MessageOutbox
from smart_context.storage.ports import ProcessListener
from smart_context.storage.postgres.database import (
    ANSWER_S,
    CONNECT_S,
    KEPT_ALIVE,
    Database,
    count,
    row,
    rows,
)
from smart_context.storage.postgres.schema import Connection

Notified = Callable[[str], Awaitable[None]]
"""Called with the text of each notification, in order."""

Caught = Callable[[], Awaitable[None]]
"""Called when notifications begin to arrive; earlier ones may have been lost."""

CHECK_S = 4.0
"""Seconds without a notification after which the connection is checked."""

_AGAIN_S = 1.0


class Listener:
    """Receives notifications while there are subscribers.

    Attributes:
        node: Identifies this process among all that use the database.
    """

    def __init__(self, database: Database) -> None:
        self.node = secrets.token_hex(6)
        self._database = database
        self._subscribed: dict[str, tuple[Notified, Caught]] = {}
        self._changed = asyncio.Event()
        self._running: asyncio.Task[None] | None = None
        self._connection_log = ConnectionLog(
            logging.getLogger(__name__), "changes by other processes"
        )

    async def listen(self, channel: str, heard: Notified, caught: Caught) -> None:
        """Receive the notifications of a channel until cancelled; one subscriber per channel."""
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
                self._connection_log.lost(error)
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
                self._connection_log.goes_on()
                await self._hear(connection)
        finally:
            with suppress(psycopg.Error, TimeoutError):
                async with asyncio.timeout(CONNECT_S):
                    await connection.close()

    async def _hear(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """Pass on the next notifications, or wait some seconds; then check the connection."""
        async for notification in connection.notifies(timeout=CHECK_S, stop_after=1):
            if subscribed := self._subscribed.get(notification.channel):
                await subscribed[0](notification.payload)
        async with asyncio.timeout(ANSWER_S):
            await connection.execute("SELECT 1")


CHANGES_CHANNEL = "smart_context_changes"

_REVISIONS = "SELECT id, revision FROM chat WHERE deletion = '' AND revision IS NOT NULL"


def tell_others(connection: Connection, node: str, chat: ChatId, revision: int | None) -> None:
    """Tell the other processes, with the commit, the new revision of a chat; `None` if deleted."""
    _notify(connection, f"{node} {chat} {revision or 0}")


def tell_of_document(connection: Connection, node: str, chat: ChatId) -> None:
    """Tell the other processes, with the commit, that a document of a chat has changed."""
    _notify(connection, f"{node} {chat}")


def _notify(connection: Connection, payload: str) -> None:
    connection.execute("SELECT pg_notify(%s, %s)", (CHANGES_CHANNEL, payload))


class Changes(ReportedChanges[int]):
    """The changes of a database's chats by their revisions; satisfies `ChatChanges`."""

    def __init__(self, database: Database, listener: Listener) -> None:
        super().__init__()
        self.node = listener.node
        self._database = database
        self._listener = listener
        self._has_begun = False

    async def watch(self) -> None:
        self._has_begun = False
        await self._listener.listen(CHANGES_CHANNEL, self._heard, self._caught_up)

    async def _heard(self, payload: str) -> None:
        node, chat, *rest = payload.split(" ")
        if not rest:
            if node != self.node:
                self._sidecar_listeners.tell(ChatId(chat))
        elif node != self.node:
            revision = int(rest[0]) or None
            if revision is None or revision > self._reported.get(ChatId(chat), 0):
                self.tell(ChatId(chat), revision)

    async def _caught_up(self) -> None:
        """Report the changes whose notifications were lost."""
        before = dict(self._reported)
        found = {ChatId(chat): number for chat, number in await self._database.do(rows(_REVISIONS))}
        if not self._has_begun:
            self._has_begun = True
            self._reported = {**found, **self._reported}
            return
        for chat in sorted({*found, *before}):
            newest = found.get(chat)
            if newest is None or newest > self._reported.get(chat, 0):
                self.tell(chat, newest)
                self._sidecar_listeners.tell(chat)


EVENTS_CHANNEL = "smart_context_events"

_MOST_AT_ONCE = 500
_NEWEST = "SELECT coalesce(max(number), 0) FROM event"
_TOLD_SINCE = "SELECT number, node, body FROM event WHERE number > %s ORDER BY number LIMIT %s"
_FORGET = "DELETE FROM event WHERE told_at < clock_timestamp() - interval '15 minutes'"
_FORGET_EACH_S = 300.0


class PostgresEvents:
    """Messages by way of the database; satisfies `Events`."""

    is_shared = True

    def __init__(self, database: Database, listener: Listener) -> None:
        self._database = database
        self._listener = listener
        self._outbox = MessageOutbox()
        self._read_to: int | None = None

    def send(self, message: JsonObject) -> None:
        self._outbox.add(message)

    async def settle(self) -> None:
        await self._outbox.settle()

    async def listen(self, heard: ProcessListener, begun: Callable[[], None]) -> None:
        self._read_to = None

        async def notified(number: str) -> None:
            if self._read_to is not None and int(number) > self._read_to:
                await self._read(heard)

        async def caught() -> None:
            if self._read_to is None:
                (self._read_to,) = await self._database.do(row(_NEWEST))
                begun()
            await self._read(heard)

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._outbox.run(self._tell))
            tasks.create_task(self._forget())
            tasks.create_task(self._listener.listen(EVENTS_CHANNEL, notified, caught))

    async def _tell(self, body: str) -> None:
        await self._database.do(row("SELECT tell(%s, %s)", (self._listener.node, body)))

    async def _read(self, heard: ProcessListener) -> None:
        is_more = True
        while is_more:
            asked = self._read_to or 0, _MOST_AT_ONCE
            found = await self._database.do(rows(_TOLD_SINCE, asked), repeatable=True)
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
                await self._database.do(count(_FORGET))
