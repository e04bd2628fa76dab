"""Finds the chat of a client's request."""

import asyncio
import logging
import time
from collections.abc import Awaitable
from dataclasses import dataclass, replace

from cachetools import LRUCache

from smart_context.base.errors import StoreFailed
from smart_context.chat.ids import check_chat_id, new_chat_id
from smart_context.gateway.asides import is_beside
from smart_context.gateway.identity.given_ids import CHAT_HEADER
from smart_context.gateway.identity.issued import (
    NEWEST,
    ChatOpening,
    IssuedAnswer,
    IssuedAnswers,
    TextOf,
    digest,
    first_question,
    program_of,
)
from smart_context.gateway.identity.record import IssuedRecord
from smart_context.gateway.turns.incoming import Incoming
from smart_context.storage.ports import Logs

_KEPT_ASIDES = 256

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOfRequest:
    """The chat of a request."""

    id: str
    name: str | None = None  # the client's own id of it; `None` if it has none
    is_aside: bool = False  # True if the request serves the client itself: not in the chat


class ChatFinder:
    """Finds chats by the answers that they got, for each key.

    Args:
        text_of: Reads the text of a chat's message if a digest can't decide.
        logs: Store the answers that each key's chats got.
    """

    def __init__(self, text_of: TextOf, logs: Logs) -> None:
        self._text_of = text_of
        self._logs = logs
        self._records: dict[str, IssuedRecord] = {}
        self._looking = asyncio.Lock()
        self._asides: LRUCache[str, set[str]] = LRUCache(_KEPT_ASIDES)

    async def chat_of(self, incoming: Incoming) -> ChatOfRequest | None:
        """The chat that a request continues, or a new one; `None` for an aside of no known chat.

        Raises:
            ChatIdInvalid: If the client's id for the chat is not allowed.
        """
        record = await self._record(incoming.key)
        found = await self._found(incoming, record)
        if found is None or incoming.is_held:
            return found
        if incoming.says_aside or self._is_beside(incoming, found.id, record.issued):
            return replace(found, is_aside=True)
        return found

    async def note_turn(self, incoming: Incoming, chat: ChatOfRequest) -> None:
        """Remember the frame of the turns of a chat; see `note`."""
        if not incoming.is_held:
            record = self._records[incoming.key]  # `chat_of` has read it
            await self._change(record.frame(chat.id, incoming.frame))

    async def _found(self, incoming: Incoming, record: IssuedRecord) -> ChatOfRequest | None:
        if named := incoming.headers.get(CHAT_HEADER, "").strip():
            return ChatOfRequest(id=check_chat_id(named), name=named)
        held = record.issued.by_response.get(incoming.previous_response)
        if incoming.given is not None:
            given = incoming.given
            return ChatOfRequest(id=held or given.chat_id(incoming.key), name=given.value)
        if held:
            return ChatOfRequest(id=held)
        # One at a time, so that two tries of one question get one chat.
        async with self._looking:
            return await self._by_history(incoming, record)

    def _is_beside(self, incoming: Incoming, chat: str, issued: IssuedAnswers) -> bool:
        turn = issued.frames.get(chat)
        if turn is None or self._goes_on_from_aside(incoming, chat):
            return False
        return is_beside(incoming.units, incoming.body, incoming.frame, turn)

    def _goes_on_from_aside(self, incoming: Incoming, chat: str) -> bool:
        """True if the client continues from the answer to a supposed aside, so it was a turn."""
        answers = self._asides.get(chat)
        if not answers:
            return False
        said = [u.text for u in incoming.units[: incoming.question] if u.role == "assistant"]
        going_on = answers & {digest(text) for text in said[-NEWEST:]}
        answers -= going_on
        return bool(going_on)

    def note_aside(self, chat: str, text: str) -> None:
        """Remember the answer to an aside, in case it was a turn after all."""
        if text:
            self._asides.setdefault(chat, set()).add(digest(text))

    async def note(self, key: str, *answers: IssuedAnswer) -> None:
        """Remember the answer of a chat; a failed write is only logged."""
        record = await self._record(key)
        try:
            await record.add(*answers)
        except StoreFailed as error:
            _logger.warning("the answer's chat may not be found again: %s", error)

    async def has_got(self, key: str, held: str) -> bool:
        """True if a response or conversation of the provider's went to this key."""
        return held in (await self._record(key)).issued.by_response

    async def note_held(self, key: str, held: str) -> None:
        """Remember the id of a response or conversation that is in no chat; see `note`."""
        await self._change((await self._record(key)).got(held))

    async def _record(self, key: str) -> IssuedRecord:
        record = self._records.setdefault(key, IssuedRecord(self._logs, key))
        await record.refresh()
        return record

    async def _by_history(self, incoming: Incoming, record: IssuedRecord) -> ChatOfRequest | None:
        issued: IssuedAnswers = record.issued
        known = await issued.chat_of(incoming.units, self._text_of)
        if known is not None:
            await self._change(record.see(known))
            return ChatOfRequest(id=known)
        if incoming.says_aside:
            return None
        instructions = incoming.body.get("instructions")
        program = program_of(incoming.client, incoming.units, instructions)
        if chat := issued.retried(incoming.units, program, time.time()):
            return ChatOfRequest(id=chat)
        made = new_chat_id()
        asked = first_question(incoming.units)
        if asked is not None:
            first, now = digest(asked.text), time.time()
            opening = ChatOpening(chat=made, first=first, program=program, at=now)
            await self._change(record.add(opening))
        return ChatOfRequest(id=made)

    async def _change(self, change: Awaitable[None]) -> None:
        try:
            await change
        except StoreFailed as error:
            _logger.warning("the chat may not be found again: %s", error)
