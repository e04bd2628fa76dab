"""Keeps the atlas in step in the background, and finds the topics of chats that have none."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Hashable
from typing import Any

from smart_context.base.errors import SmartContextError, StoreFailed
from smart_context.base.values import OWNER, PersonId
from smart_context.chat.messages import ChatId
from smart_context.host.turn import Turn
from smart_context.plugin.atlas.atlases import Atlases, PersonsAtlas

FIRST_AFTER_S = 5.0
"""So long after the start; a command that ends before leaves all of this to a server."""

_QUIET_S = 1.0
_LOOK_AGAIN_EVERY = 16
"""The atlas is brought up to date after so many chats, and at the end."""

Latest = Callable[[Hashable, Coroutine[Any, Any, None]], "asyncio.Task[None]"]


class BackgroundExtraction:
    """Finds topics, newest chats first, one chat at a time; gives way to running turns."""

    def __init__(
        self,
        atlases: Atlases,
        extract: Callable[[ChatId], Coroutine[Any, Any, None]],
        is_running: Callable[[ChatId], bool],
        latest: Latest,
        logger: logging.Logger,
    ) -> None:
        self._atlases = atlases
        self._extract = extract
        self._is_running = is_running
        self._latest = latest
        self._logger = logger
        self._turns: set[str] = set()
        self._changed = asyncio.Event()
        self._free = asyncio.Event()
        self._free.set()
        self._current: asyncio.Task[None] | None = None
        self._failed: dict[ChatId, str] = {}
        self._paused: set[PersonId] = set()

    def pause(self, person: PersonId, *, paused: bool) -> None:
        """Leave a person's chats as they are, or go on with them."""
        if paused:
            self._paused.add(person)
            self._give_way()
        else:
            self._paused.discard(person)
        self._changed.set()

    def is_paused(self, person: PersonId) -> bool:
        """True if a person's chats are left as they are."""
        return person in self._paused

    async def turn_begun(self, turn: Turn) -> None:
        """Give way: leave the current chat for later."""
        self._turns.add(turn.id)
        self._free.clear()
        self._give_way()

    async def turn_over(self, turn: Turn) -> None:
        """Go on when no turn runs any more."""
        self._turns.discard(turn.id)
        if not self._turns:
            self._free.set()
        self._changed.set()

    async def look(self, _changed: object = None) -> None:
        """Look for chats without topics soon."""
        self._changed.set()

    async def run(self) -> None:
        """Work until cancelled."""
        await asyncio.sleep(FIRST_AFTER_S)
        self._atlases.known(OWNER)
        self._changed.set()
        while True:
            await self._changed.wait()
            await asyncio.sleep(_QUIET_S)
            await self._free.wait()
            self._changed.clear()
            for person in self._atlases.persons:
                await self._find_topics(person)

    async def _find_topics(self, person: PersonId) -> None:
        while waiting := self._waiting(mine := await self._refreshed(person)):
            if self.is_paused(person):
                return
            for chat_id in waiting[:_LOOK_AGAIN_EVERY]:
                await self._free.wait()
                if not self._is_running(chat_id) and not self.is_paused(person):
                    await self._find(chat_id, mine.archive.chats[chat_id].revision)

    async def _refreshed(self, person: PersonId) -> PersonsAtlas:
        try:
            return await self._atlases.refreshed(person)
        except StoreFailed as error:
            self._logger.warning("The atlas can't be brought up to date: %s", error)
            return PersonsAtlas()

    def _waiting(self, mine: PersonsAtlas) -> list[ChatId]:
        chats = mine.archive.chats
        return [
            row.id
            for row in mine.rows
            if (entry := chats.get(row.id)) is not None
            and not entry.is_known
            and self._failed.get(row.id) != entry.revision
            and not self._is_running(row.id)
        ]

    async def _find(self, chat_id: ChatId, revision: str) -> None:
        """Find one chat's topics; one that can't be read is tried again when it has changed."""

        async def work() -> None:
            try:
                await self._extract(chat_id)
            except SmartContextError as error:
                self._logger.warning("No topics were found in the chat %s: %s", chat_id, error)

        self._current = self._latest(("topics", chat_id), work())
        await asyncio.wait([self._current])
        if not self._current.cancelled():
            self._failed[chat_id] = revision
        self._current = None

    def _give_way(self) -> None:
        if self._current is not None:
            self._current.cancel()
