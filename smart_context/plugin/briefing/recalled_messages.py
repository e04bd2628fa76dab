"""Reads the messages that a chat recalls, as they are now, without those that may not be sent."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from cachetools import LRUCache

from smart_context.base.errors import SmartContextError
from smart_context.base.times import moment_of
from smart_context.base.values import PersonId
from smart_context.chat.listed.rows import title_from
from smart_context.chat.messages import PRIVATE, ChatId, Message, MessageId
from smart_context.chat.tool_pairs import NOBODY, find_tool_pairs
from smart_context.host.access import Access, Owned
from smart_context.host.request.fenced_tools import in_plain_text
from smart_context.host.request.prompt import prompt_messages
from smart_context.plugin.briefing.recall_prompt import RecallContent, RecalledMessage
from smart_context.plugin.choices.recalls import Recall, Reference
from smart_context.plugin.choices.sidecars import Sidecars
from smart_context.storage.ports import Chats

MAX_CHATS = 64
"""The maximum number of chats whose messages are remembered as they are quoted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledChat:
    """The messages of a chat that other chats may recall.

    Attributes:
        units: Each message by its id; those of one tool call and its results are one.
    """

    title: str
    units: dict[MessageId, RecalledMessage]

    @property
    def messages(self) -> tuple[RecalledMessage, ...]:
        """Each once, oldest first."""
        return tuple({unit.reference: unit for unit in self.units.values()}.values())


class _Source(NamedTuple):
    """What a chat's recalled messages were made from."""

    messages: tuple[Message, ...]
    title: str
    hidden: frozenset[MessageId]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledMessages:
    """Reads what recalls refer to."""

    chats: Chats
    sidecars: Sidecars
    access: Access
    logger: logging.Logger
    _made: LRUCache[ChatId, tuple[_Source, RecalledChat]] = field(
        init=False, default_factory=partial(LRUCache, MAX_CHATS)
    )

    async def content(self, chat_id: ChatId, recall: Recall) -> RecallContent:
        """What a recall of a chat refers to now; never fails.

        Args:
            chat_id: The chat that recalls; its own messages are never sent twice.
        """
        found: dict[ChatId, RecalledChat | None] = {}
        for named in dict.fromkeys(reference.chat_id for reference in recall.references):
            found[named] = None if named == chat_id else await self.chat(named, recall.person)
        messages = dict.fromkeys(
            unit
            for reference in recall.references
            if (chat := found[reference.chat_id]) and (unit := chat.units.get(reference.message_id))
        )
        missing = tuple(named for named, chat in found.items() if chat is None and named != chat_id)
        return RecallContent(
            recall_id=recall.id,
            label=recall.label,
            max_tokens=recall.max_tokens,
            messages=tuple(messages),
            left_out=recall.found - len(recall.references),
            missing=missing,
        )

    async def chat(self, chat_id: ChatId, person: PersonId) -> RecalledChat | None:
        """A chat's messages; `None` if it is gone, private, unreadable or another person's."""
        try:
            if not await self.access.may_use(person, Owned("chat", chat_id)):
                return None
            messages, others = await self.chats.snapshot(chat_id, "title", PRIVATE)
            is_there = bool(messages) or await self.chats.exists(chat_id)
            if not is_there or others.get(PRIVATE) is True:
                return None
            hidden = frozenset((await self.sidecars.of(chat_id)).state.hidden)
        except SmartContextError as error:
            self.logger.warning("the chat %s can't be recalled: %s", chat_id, error)
            return None
        source = _Source(messages, title_from(others.get("title"), messages), hidden)
        made = self._made.get(chat_id)
        if made is None or made[0] != source:
            units = await asyncio.to_thread(_units, chat_id, source)
            made = self._made[chat_id] = source, RecalledChat(title=source.title, units=units)
        return made[1]


def _units(chat_id: ChatId, source: _Source) -> dict[MessageId, RecalledMessage]:
    messages, title, hidden = source
    units: dict[MessageId, RecalledMessage] = {}
    at = ""
    for place, members in _together(messages):
        first = members[0]
        moment = moment_of(first.created_at)
        at = max(at, moment.isoformat()) if moment else at
        if any(_is_out(member, hidden) for member in members):
            continue
        text = _text(members)
        if not text.strip():
            continue
        unit = RecalledMessage(
            reference=Reference(chat_id, first.id),
            title=title,
            date=moment.date().isoformat() if moment else "",
            role=first.role,
            text=text,
            when=(at, chat_id, place),
        )
        units.update((member.id, unit) for member in members)
    return units


def _together(messages: Sequence[Message]) -> Iterable[tuple[int, list[Message]]]:
    """Each message with the results of its calls, and its place; results without a call go."""
    callers = find_tool_pairs(messages).caller_of
    units: dict[int, list[Message]] = {}
    for place, message in enumerate(messages):
        if (caller := callers.get(place)) is None and message.role != "tool":
            units[place] = [message]
        elif caller is not None and caller != NOBODY:
            units[caller].append(message)
    return units.items()


def _is_out(message: Message, hidden: AbstractSet[MessageId]) -> bool:
    is_said = message.is_complete and message.role != "system" and not message.is_summary
    return not is_said or message.id in hidden


def _text(members: Sequence[Message]) -> str:
    """What was said and done, tool calls and results in plain text."""
    if len(members) == 1 and isinstance(members[0].content, str):
        return members[0].content
    said = in_plain_text(prompt_messages("", members, "")[:-1])
    return "\n\n".join(str(entry["content"]) for entry in said)
