"""Reads a client's request: its body, its list, and its ids of the chat."""

import asyncio
import json
import logging
import time
from collections import deque
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

from cachetools import LRUCache

from smart_context.base.errors import StoreFailed
from smart_context.base.values import id_in, text_in
from smart_context.chat.ids import check_chat_id, new_chat_id
from smart_context.gateway.asides import Frame, frame_of, is_beside, says_aside
from smart_context.gateway.identity import (
    CHAT_HEADER,
    NEWEST,
    RETRY_HEADER,
    GivenId,
    Issued,
    IssuedAnswer,
    IssuedRecord,
    Opening,
    TextOf,
    client_of,
    digest,
    first_question,
    given_id,
    program_of,
)
from smart_context.gateway.requests.body import Body, BodyRefused, ItemList, read_body
from smart_context.gateway.requests.outgoing import Kind, last_question
from smart_context.gateway.requests.units import Unit, chat_units, response_units, unit_of
from smart_context.llm.echoes import NO_KEYS, Echoes
from smart_context.storage.ports import Logs

OFF_HEADER = "x-smart-context"
PATHS: Mapping[Kind, str] = {"chat": "/chat/completions", "responses": "/responses"}
LIST_NAMES: Mapping[Kind, str] = {"chat": "messages", "responses": "input"}

_KEPT_ASIDES = 256
_KEPT_LISTS = 32
_KEPT_CHARACTERS = 64 << 20


@dataclass(frozen=True, kw_only=True)
class Incoming:
    """A request of a client."""

    kind: Kind  # the API that the client uses
    key: str  # the name of its key
    client: str  # the program, as far as its headers tell
    headers: Mapping[str, str]  # by names in lower case
    body: Body
    units: tuple[Unit, ...]  # the units of its list
    given: GivenId | None  # its own name for the chat

    @property
    def model(self) -> str:
        """The requested model; empty if there is none."""
        return text_in(self.body.get("model"))

    @property
    def is_stream(self) -> bool:
        """The answer is to be streamed."""
        return self.body.get("stream") is True

    @cached_property
    def says_aside(self) -> bool:
        """It tells by itself that it serves the client, such as a title for the chat."""
        return says_aside(self.units, self.body, is_named=self.given is not None)

    @cached_property
    def frame(self) -> Frame:
        """What comes around its list."""
        return frame_of(self.units, self.body)

    @property
    def is_off(self) -> bool:
        """The client wants it sent unchanged."""
        return self.headers.get(OFF_HEADER, "").strip().lower() == "off"

    @property
    def previous_response(self) -> str:
        """The response that it continues; the provider holds the history."""
        return previous_response(self.body)

    @property
    def is_held(self) -> bool:
        """The provider holds the history, and the list has only new items."""
        is_named = self.previous_response or self.body.get("conversation")
        return self.kind == "responses" and bool(is_named)

    @property
    def is_retry(self) -> bool:
        """The client's library retries by itself."""
        return self.headers.get(RETRY_HEADER, "0").strip() not in {"", "0"}

    @property
    def question(self) -> int:
        """The place of the question's unit."""
        return last_question(self.units)

    @property
    def item_count(self) -> int:
        """The number of messages or items in the request."""
        return sum(unit.size for unit in self.units)


def held_things(body: Body) -> tuple[str, ...]:
    """The ids of the response and conversation that a request of the Responses API continues."""
    conversation = body.get("conversation")
    named = id_in(conversation) or (str(conversation) if conversation else "")
    return tuple(filter(None, (previous_response(body), named)))


def previous_response(body: Body) -> str:
    """The response that a request continues; empty if it names none."""
    return text_in(body.get("previous_response_id"))


class RecentLists:
    """Lists that were read lately; a request that continues one reads only the rest."""

    def __init__(self) -> None:
        self._lists: deque[tuple[str, ItemList, tuple[Unit, ...]]] = deque()

    def known(self, key: str) -> list[ItemList]:
        """The lists of a key."""
        return [listed for owner, listed, _ in self._lists if owner == key]

    def units_of(self, listed: ItemList, count: int) -> tuple[Unit, ...]:
        """The units of the known list that another list continues."""
        for _, known, units in self._lists:
            if len(known.items) == count and listed.text.startswith(known.text):
                return units
        return ()

    def remember(self, incoming: Incoming) -> None:
        """Keep a request's list in place of the one that it continues."""
        listed = incoming.body.listed
        if listed is None:
            return
        others = [kept for kept in self._lists if not listed.text.startswith(kept[1].text)]
        self._lists = deque([(incoming.key, listed, incoming.units), *others])
        size = 0
        for count, (_, kept, _) in enumerate(self._lists):
            size += len(kept.text)
            if count and (size > _KEPT_CHARACTERS or count >= _KEPT_LISTS):
                self._lists = deque(islice(self._lists, count))
                break


def read_incoming(
    kind: Kind,
    raw: bytes,
    headers: Mapping[str, str],
    key: str,
    recent: RecentLists,
    echoes: Echoes = NO_KEYS,
) -> Incoming:
    """Read a request.

    Args:
        headers: By names in lower case.
        echoes: Our keys, which units don't hold if the client sends back an answer with one.

    Raises:
        BodyRefused: If it can't be read, or has no list.
    """
    body = read_body(raw, LIST_NAMES[kind], recent.known(key))
    known = recent.units_of(body.listed, body.known) if body.listed and body.known else ()
    return Incoming(
        kind=kind,
        key=key,
        client=client_of(headers, key),
        headers=headers,
        body=body,
        units=tuple(_units(kind, body, known, echoes)),
        given=given_id(headers, body),
    )


def with_model(incoming: Incoming, model: str) -> Incoming:
    """A request for another model; all else of it is as it came."""
    body, name = incoming.body, LIST_NAMES[incoming.kind]
    raw = body.spliced({"model": json.dumps(model)}).encode()
    known = [] if body.listed is None else [body.listed]
    return replace(incoming, body=read_body(raw, name, known))


def _units(kind: Kind, body: Body, known: Sequence[Unit], echoes: Echoes) -> Sequence[Unit]:
    if body.listed is None:
        return _without_list(kind, body, echoes)
    settled = known[:-1] if kind == "responses" else known  # the last answer may continue
    first = settled[-1].first + settled[-1].size if settled else 0
    new = body.listed.items[first:]
    values = [item.value for item in new]
    if new and echoes.are_in(body.listed.text, new[0].start):
        values = echoes.value(values)
    read = chat_units if kind == "chat" else response_units
    return [*settled, *read(values, first=first)]


def _without_list(kind: Kind, body: Body, echoes: Echoes) -> Sequence[Unit]:
    name = LIST_NAMES[kind]
    given = body.get(name)
    if kind == "responses" and isinstance(given, str):
        return (unit_of("user", echoes.text(given), first=0),)
    if kind == "responses" and given is None:
        return ()
    raise BodyRefused(f"{name}: expected a list of messages.", name)


_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundChat:
    """The chat of a request."""

    id: str
    name: str | None = None  # the client's own id of it; `None` if it has none
    is_aside: bool = False  # the request serves the client itself, and stays out of the chat


class ChatFinder:
    """Finds chats by the answers that they got, for each key.

    Args:
        text_of: Reads the text of a chat's message, where a digest can't decide.
        logs: Keep the answers that each key's chats got.
    """

    def __init__(self, text_of: TextOf, logs: Logs) -> None:
        self._text_of = text_of
        self._logs = logs
        self._records: dict[str, IssuedRecord] = {}
        self._looking = asyncio.Lock()
        self._asides: LRUCache[str, set[str]] = LRUCache(_KEPT_ASIDES)

    async def chat_of(self, incoming: Incoming) -> FoundChat | None:
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

    async def note_turn(self, incoming: Incoming, chat: FoundChat) -> None:
        """Remember what comes with the turns of a chat; see `note`."""
        if not incoming.is_held:
            record = self._records[incoming.key]  # as `chat_of` has read it
            await self._change(record.frame(chat.id, incoming.frame))

    async def _found(self, incoming: Incoming, record: IssuedRecord) -> FoundChat | None:
        if named := incoming.headers.get(CHAT_HEADER, "").strip():
            return FoundChat(id=check_chat_id(named), name=named)
        held = record.issued.by_response.get(incoming.previous_response)
        if incoming.given is not None:
            given = incoming.given
            return FoundChat(id=held or given.chat_id(incoming.key), name=given.value)
        if held:
            return FoundChat(id=held)
        # One at a time, so that two tries of one question get one chat.
        async with self._looking:
            return await self._by_history(incoming, record)

    def _is_beside(self, incoming: Incoming, chat: str, issued: Issued) -> bool:
        turn = issued.frames.get(chat)
        if turn is None or self._goes_on_from_aside(incoming, chat):
            return False
        return is_beside(incoming.units, incoming.body, incoming.frame, turn)

    def _goes_on_from_aside(self, incoming: Incoming, chat: str) -> bool:
        """True if the client goes on from the answer to what was taken for an aside."""
        answers = self._asides.get(chat)
        if not answers:
            return False
        said = [u.text for u in incoming.units[: incoming.question] if u.role == "assistant"]
        going_on = answers & {digest(text) for text in said[-NEWEST:]}
        answers -= going_on
        return bool(going_on)

    def note_aside(self, chat: str, text: str) -> None:
        """Remember the answer to an aside, in case that it was a turn after all."""
        if text:
            self._asides.setdefault(chat, set()).add(digest(text))

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

    async def _by_history(self, incoming: Incoming, record: IssuedRecord) -> FoundChat | None:
        issued: Issued = record.issued
        known = await issued.chat_of(incoming.units, self._text_of)
        if known is not None:
            await self._change(record.see(known))
            return FoundChat(id=known)
        if incoming.says_aside:
            return None
        instructions = incoming.body.get("instructions")
        program = program_of(incoming.client, incoming.units, instructions)
        if chat := issued.retried(incoming.units, program, time.time()):
            return FoundChat(id=chat)
        made = new_chat_id()
        asked = first_question(incoming.units)
        if asked is not None:
            first, now = digest(asked.text), time.time()
            opening = Opening(chat=made, first=first, program=program, at=now)
            await self._change(record.add(opening))
        return FoundChat(id=made)

    async def _change(self, change: Awaitable[None]) -> None:
        try:
            await change
        except StoreFailed as error:
            _logger.warning("the chat may not be found again: %s", error)
