"""Finds the chat that a request belongs to."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from smart_context.base.errors import StoreFailed
from smart_context.chat.ids import check_chat_id, new_chat_id
from smart_context.gateway.identity.given_ids import CHAT_HEADER
from smart_context.gateway.identity.issued import (
    Issued,
    IssuedAnswer,
    Opening,
    TextOf,
    digest,
    first_question,
    program_of,
)
from smart_context.gateway.identity.record import IssuedRecord
from smart_context.gateway.turns.incoming import Incoming
from smart_context.storage.ports import Logs

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundChat:
    """The chat of a request."""

    id: str
    name: str | None = None  # the client's own id of it; `None` if it has none


class ChatFinder:
    """Finds chats by the answers that they got, for each key.

    Args:
        text_of: Reads the text of a chat's message, where a digest can't decide.
        logs: Keep the answers that each key's chats got.
        now: The time in seconds since 1970.
    """

    def __init__(
        self, text_of: TextOf, logs: Logs, *, now: Callable[[], float] = time.time
    ) -> None:
        self._text_of = text_of
        self._logs = logs
        self._now = now
        self._records: dict[str, IssuedRecord] = {}
        self._looking = asyncio.Lock()

    async def chat_of(self, incoming: Incoming) -> FoundChat:
        """The chat that a request continues, or a new one.

        Raises:
            ChatIdInvalid: If the client's id for the chat is not allowed.
        """
        if named := incoming.headers.get(CHAT_HEADER, "").strip():
            return FoundChat(id=check_chat_id(named), name=named)
        record = await self._record(incoming.key)
        held = record.issued.by_response.get(incoming.previous_response)
        if incoming.given is not None:
            given = incoming.given
            return FoundChat(id=held or given.chat_id(incoming.key), name=given.value)
        if held:
            return FoundChat(id=held)
        # One at a time, so that two tries of one question get one chat.
        async with self._looking:
            return await self._by_history(incoming, record)

    async def note(self, key: str, *answers: IssuedAnswer) -> None:
        """Remember the answer of a chat; a disk that refuses is only logged."""
        record = await self._record(key)
        try:
            await record.add(*answers)
        except StoreFailed as error:
            _logger.warning("the answer's chat may not be found again: %s", error)

    async def has_got(self, key: str, held: str) -> bool:
        """True if a response or conversation of the provider's went to this key."""
        return held in (await self._record(key)).issued.by_response

    async def note_held(self, key: str, held: str) -> None:
        """Remember what the provider holds and has no place in a chat; see `note`."""
        await self._change((await self._record(key)).got(held))

    async def _record(self, key: str) -> IssuedRecord:
        record = self._records.setdefault(key, IssuedRecord(self._logs, key))
        await record.refresh()
        return record

    async def _by_history(self, incoming: Incoming, record: IssuedRecord) -> FoundChat:
        issued: Issued = record.issued
        known = await issued.chat_of(incoming.units, self._text_of)
        if known is not None:
            await self._change(record.see(known))
            return FoundChat(id=known)
        instructions = incoming.body.get("instructions")
        program = program_of(incoming.client, incoming.units, instructions)
        if chat := issued.retried(incoming.units, program, self._now()):
            return FoundChat(id=chat)
        made = new_chat_id()
        asked = first_question(incoming.units)
        if asked is not None and not incoming.is_aside:
            first, now = digest(asked.text), self._now()
            opening = Opening(chat=made, first=first, program=program, at=now)
            await self._change(record.add(opening))
        return FoundChat(id=made)

    async def _change(self, change: Awaitable[None]) -> None:
        try:
            await change
        except StoreFailed as error:
            _logger.warning("the chat may not be found again: %s", error)
