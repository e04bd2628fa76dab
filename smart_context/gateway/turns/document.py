"""Records a client's request in its chat."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cachetools import LRUCache

from smart_context.base.errors import SmartContextError
from smart_context.base.text.typed import question_in
from smart_context.base.times import utc_stamp
from smart_context.base.values import JsonObject
from smart_context.chat.documents.branches import branches_of
from smart_context.chat.documents.document import Version, since_message
from smart_context.chat.ids import new_message_id
from smart_context.chat.messages import (
    CUT,
    HELD,
    SOURCE,
    ChatId,
    Message,
    MessageId,
    messages_of,
)
from smart_context.gateway.following.documents import append_answer, follow, put_answer
from smart_context.gateway.following.matching import ISSUED, ListMatch, keys_of, matched
from smart_context.gateway.requests.outgoing import last_question
from smart_context.gateway.requests.units import ListUnit, spoken_text
from smart_context.gateway.turns.finding import ChatOfRequest
from smart_context.gateway.turns.incoming import Incoming
from smart_context.storage.ports import Chats

TITLE_LENGTH = 60

_logger = logging.getLogger(__name__)

_PREPARED = (
    "I have *added these files to the chat*",
    "I am not sharing any files",
    "I am not sharing the full contents of any files",
    "I am working with code in a git repository",
    "I am working with you on code in a git repository",
    "Don't try and edit any existing code without asking me",
    "I switched to a new code base",
    "Here are summaries of some files",
    "Here are some READ ONLY files",
)
"""Beginnings of messages that aider writes in the user's name, after its examples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRequest:
    """A chat in which a request was recorded."""

    chat_id: ChatId
    answer_id: MessageId  # the message of the answer that is being generated
    ids: tuple[str, ...]  # the ids of the messages of the request's units
    # the chat's messages, except the answer and those that the client no longer sends
    messages: tuple[Message, ...]
    question: Message | None  # the question; `None` if the request has no messages


@dataclass(frozen=True, kw_only=True)
class RecordingPlan:
    """The change of a chat by a request."""

    store: Chats
    incoming: Incoming
    chat: ChatOfRequest
    model: str  # the model that is asked
    stored: tuple[Message, ...]  # the chat's messages before
    matching: ListMatch  # the request's list, matched with them
    answer_id: str  # the answer's message
    names: Mapping[int, str]  # the ids of new messages, by unit

    @cached_property
    def goes_on(self) -> bool:
        """True if the client only added messages at the end, so the chat is known in advance."""
        count = len(self.stored)
        return (
            not self.incoming.is_held
            and count > 0
            and self.incoming.question <= count < len(self.incoming.units)
            and self.matching.places[:count] == tuple(range(count))
            and not self.matching.rewritten
            and not any(m.generating or m.extra.get(CUT) for m in self.stored)
        )

    def foreseen(self) -> RecordedRequest:
        """The chat as it will be; only if it `goes_on`."""
        ids = [
            self.names[index] if place is None else self.stored[place].id
            for index, place in enumerate(self.matching.places)
        ]
        now = utc_stamp()
        new = [
            Message.from_dict(self.incoming.units[index].stored(message_id, now))
            for index, message_id in sorted(self.names.items())
        ]
        messages = (*self.stored, *new)
        return RecordedRequest(
            chat_id=ChatId(self.chat.id),
            answer_id=MessageId(self.answer_id),
            ids=tuple(ids),
            messages=messages,
            question=messages[self.incoming.question],
        )

    async def write(self) -> RecordedRequest:
        """Make the chat's document follow the request, and add the coming answer.

        Raises:
            SmartContextError: If the disk refuses, or the chat can't be read.
        """
        ids = await self.record()
        messages = await self.store.messages(self.chat.id)
        asked = ids[self.incoming.question] if ids else ""
        return RecordedRequest(
            chat_id=ChatId(self.chat.id),
            answer_id=MessageId(self.answer_id),
            ids=tuple(ids),
            messages=tuple(m for m in messages if not (m.generating or m.extra.get(CUT))),
            question=next((m for m in reversed(messages) if m.id == asked), None),
        )

    async def record(self) -> list[str]:
        """Write like `write`; returns the units' ids.

        Raises:
            SmartContextError: If `write` raises it, or the chat was deleted meanwhile.
        """
        ids: list[str] = []
        is_known = False

        def since(version: Version) -> int:
            nonlocal is_known
            is_known = self.goes_on and version.messages is self.stored
            return len(version.entries) if is_known else 0

        def change(document: JsonObject) -> None:
            if is_known:
                self._go_on(document)
            else:
                ids[:] = self._change(document)

        is_new = not self.stored  # a chat that was deleted meanwhile stays deleted
        await self.store.update(self.chat.id, change, since=since, creates=is_new)
        return ids

    def _go_on(self, document: JsonObject) -> None:
        """Append the new messages; the known ones are not read."""
        now = utc_stamp()
        document.pop(HELD, None)
        for index, message_id in sorted(self.names.items()):
            document["messages"].append(self.incoming.units[index].stored(message_id, now))
        append_answer(document, self._answer(now))

    def _answer(self, now: str) -> JsonObject:
        answer = {"id": self.answer_id, "role": "assistant", "content": "", "created_at": now}
        return {**answer, "generating": True, ISSUED: self.model}

    def _change(self, document: JsonObject) -> list[str]:
        now, incoming = utc_stamp(), self.incoming
        if not document["messages"]:
            _describe(document, incoming, self.chat)
        if incoming.is_held:
            document[HELD] = True
            ids = _add(document, incoming, now)
        else:
            document.pop(HELD, None)
            ids = follow(
                document,
                incoming.units,
                (self.stored, self.matching),
                new_id=new_message_id,
                now=now,
                retry=self.answer_id if incoming.is_retry else "",
                names=self.names if self.goes_on else {},
            )
        append_answer(document, self._answer(now))
        return ids


class MessageKeys:
    """The keys of messages of the last chats, by which requests are compared with them."""

    def __init__(self) -> None:
        self._known: LRUCache[str, tuple[tuple[Message, ...], list[bytes]]] = LRUCache(64)

    def of(self, chat_id: str, stored: tuple[Message, ...]) -> list[bytes]:
        """The keys of a chat's messages, nearly all of which are known."""
        known, keys = self._known.get(chat_id, ((), []))
        same = 0
        for message, before in zip(stored, known, strict=False):
            if message is not before:
                break
            same += 1
        keys = [*keys[:same], *keys_of(stored[same:])]
        self._known[chat_id] = stored, keys
        return keys


class RequestRecorder:
    """Records requests and answers in chats."""

    def __init__(self, store: Chats, keys: MessageKeys | None = None) -> None:
        self._store = store
        self._keys = keys or MessageKeys()

    async def plan(self, incoming: Incoming, chat: ChatOfRequest, model: str) -> RecordingPlan:
        """The change that a request will make in its chat; writes nothing.

        Raises:
            SmartContextError: If the chat can't be read.
        """
        stored = await self._store.messages(chat.id)
        matching = matched(incoming.units, stored, self._keys.of(chat.id, stored))
        new = [index for index, place in enumerate(matching.places) if place is None]
        return RecordingPlan(
            store=self._store,
            incoming=incoming,
            chat=chat,
            model=model,
            stored=stored,
            matching=matching,
            answer_id=new_message_id(),
            names={index: new_message_id() for index in new},
        )

    async def put(self, chat_id: str, answers: Sequence[JsonObject]) -> None:
        """Store a finished answer in the place that was recorded for it.

        Raises:
            SmartContextError: If the disk refuses, or the chat was deleted meanwhile.
        """
        answer, *others = answers
        now = utc_stamp()
        await self._store.update(
            chat_id,
            lambda document: put_answer(document, answer, others, new_id=new_message_id, now=now),
            since=since_message(answer["id"], and_before=1),
            creates=False,
        )

    async def text_of(self, chat_id: str, message: str) -> str:
        """The text of a message in any version, with single spaces; empty if it is not found."""
        try:
            stored, others = await self._store.snapshot(chat_id)
        except SmartContextError as error:
            _logger.warning("the chat can't be compared with a request: %s", error)
            return ""
        left = [m for branch in branches_of(others) for m in messages_of(branch)]
        return next((spoken_text(m) for m in (*stored, *left) if m.id == message), "")


def _describe(document: JsonObject, incoming: Incoming, chat: ChatOfRequest) -> None:
    """Record the client of a chat, and take the first question as its title."""
    source: Mapping[str, Any] = {"client": incoming.client, "id": chat.name, "key": incoming.key}
    document.setdefault(SOURCE, dict(source))
    if title := title_of(incoming.units):
        document.setdefault("title", title)


def _add(document: JsonObject, incoming: Incoming, now: str) -> list[str]:
    """Add new messages to a chat whose history the provider holds."""
    added = [unit.stored(new_message_id(), now) for unit in incoming.units]
    document["messages"].extend(added)
    return [message["id"] for message in added]


def title_of(units: Sequence[ListUnit]) -> str:
    """The beginning of the first question; empty if there is none.

    Args:
        units: The client's list when the chat is first seen, perhaps with a history.
    """
    if not units:
        return ""
    title = question_in(units[_first_question(units)].text)
    return title if len(title) <= TITLE_LENGTH else f"{title[: TITLE_LENGTH - 1].rstrip()}…"


def _first_question(units: Sequence[ListUnit]) -> int:
    """The place of the last user message with a question before the first answer to one.

    Codex puts messages of its own before the question. In a list with messages of aider, its
    examples look like questions, so the last question counts.
    """
    if any(unit.role == "user" and unit.text.startswith(_PREPARED) for unit in units):
        return last_question(units)
    asked: int | None = None
    for index, unit in enumerate(units):
        if unit.role == "user" and question_in(unit.text):
            asked = index
        elif unit.role == "assistant" and asked is not None:
            break
    return last_question(units) if asked is None else asked
