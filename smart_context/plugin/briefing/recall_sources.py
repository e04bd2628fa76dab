"""Finds the messages for a recall, best first, and reads the current text of recalled ones."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from cachetools import LRUCache

from smart_context.base.errors import CommandFailed, InvalidParams, SmartContextError
from smart_context.base.times import moment_of
from smart_context.base.values import CountTokens, PersonId
from smart_context.chat.ids import check_chat_id
from smart_context.chat.listed.rows import title_from
from smart_context.chat.messages import PRIVATE, ChatId, Message, MessageId
from smart_context.chat.tool_pairs import NO_CALLER, find_tool_pairs
from smart_context.host.access import Access, OwnedName
from smart_context.host.request.fenced_tools import in_plain_text
from smart_context.host.request.prompt import prompt_messages
from smart_context.plugin.briefing.recall_prompt import RecallContent, RecalledMessage
from smart_context.plugin.choices.sidecars import Sidecars
from smart_context.plugin.choices.state import MOST_REFERENCES, Recall, Reference
from smart_context.plugin.selection.chat_filter import ChatFilter, with_selection
from smart_context.plugin.selection.selector import ContextSelector
from smart_context.relevance.archive.archive import ChatArchive
from smart_context.storage.ports import Chats

MAX_CHATS = 64
"""The maximum number of chats whose quoted messages are remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledChat:
    """The messages of a chat that other chats may recall."""

    title: str
    # each message by its id; a tool call and its results are one
    units: dict[MessageId, RecalledMessage]

    @property
    def messages(self) -> tuple[RecalledMessage, ...]:
        """The messages, each once, oldest first."""
        return tuple({unit.reference: unit for unit in self.units.values()}.values())


class _RecallSource(NamedTuple):
    """The source of a chat's recalled messages, to tell if they have changed."""

    messages: tuple[Message, ...]
    title: str
    hidden: frozenset[MessageId]


MadeRecalls = LRUCache[ChatId, tuple[_RecallSource, RecalledChat]]
"""Chats as recalls send them, each with what it was made from."""


def no_recalls() -> MadeRecalls:
    """Room for the last chats."""
    return LRUCache(MAX_CHATS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledMessages:
    """Reads the messages of recalls."""

    chats: Chats
    sidecars: Sidecars
    access: Access
    logger: logging.Logger
    made: MadeRecalls  # the last chats that were read; common to all people

    async def content(self, chat_id: ChatId, recall: Recall) -> RecallContent:
        """The current content of a chat's recall; never fails.

        Args:
            chat_id: The chat that has the recall; its own messages are never sent twice.
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
            if not await self.access.may_use(person, OwnedName("chat", chat_id)):
                return None
            messages, others = await self.chats.snapshot(chat_id, "title", PRIVATE)
            is_there = bool(messages) or await self.chats.exists(chat_id)
            if not is_there or others.get(PRIVATE) is True:
                return None
            hidden = frozenset((await self.sidecars.of(chat_id)).state.hidden)
        except SmartContextError as error:
            self.logger.warning("the chat %s can't be recalled: %s", chat_id, error)
            return None
        source = _RecallSource(messages, title_from(others.get("title"), messages), hidden)
        made = self.made.get(chat_id)
        if made is None or made[0] != source:
            units = await asyncio.to_thread(_units, chat_id, source)
            made = self.made[chat_id] = source, RecalledChat(title=source.title, units=units)
        return made[1]


def _units(chat_id: ChatId, source: _RecallSource) -> dict[MessageId, RecalledMessage]:
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
    """Each message with its calls' results, by its place; results without a call are left out."""
    callers = find_tool_pairs(messages).caller_of
    units: dict[int, list[Message]] = {}
    for place, message in enumerate(messages):
        if (caller := callers.get(place)) is None and message.role != "tool":
            units[place] = [message]
        elif caller is not None and caller != NO_CALLER:
            units[caller].append(message)
    return units.items()


def _is_out(message: Message, hidden: AbstractSet[MessageId]) -> bool:
    is_said = message.is_complete and message.role != "system" and not message.is_summary
    return not is_said or message.id in hidden


def _text(members: Sequence[Message]) -> str:
    """The messages in plain text, with tool calls and results."""
    if len(members) == 1 and isinstance(members[0].content, str):
        return members[0].content
    said = in_plain_text(prompt_messages("", members, "")[:-1])
    return "\n\n".join(str(entry["content"]) for entry in said)


_SPARE = 1.5
"""Factor of tokens referred to over tokens that fit, since messages can be deleted or grow."""

_PER_MESSAGE = 16
"""The approximate number of tokens of the marks around a recalled message."""


class SourceContent(NamedTuple):
    """The messages of a source."""

    label: str
    references: tuple[Reference, ...]  # the messages, best first
    total: int  # the number of all messages of the source


TopicOfAll = Callable[[str, PersonId], Awaitable[tuple[str, Sequence[tuple[ChatId, MessageId]]]]]
"""Gives the label and messages, newest first, of a topic of all chats; from its id and person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallSources:
    """Finds messages of other chats."""

    messages: RecalledMessages
    chat_filter: ChatFilter
    selector: ContextSelector
    archive: ChatArchive
    topic_of_all: TopicOfAll
    count_tokens: CountTokens

    async def of_chat(
        self, chat_id: str, topics: Sequence[str] | None, person: PersonId, max_tokens: int
    ) -> SourceContent:
        """The messages of a chat, newest first; with topics, those about them, best first.

        Raises:
            CommandFailed: The chat can't be recalled, or has no such message.
        """
        checked = check_chat_id(chat_id)
        chat = await self._chat(checked, person)
        if topics:
            ids = await self._about(checked, topics)
            units = dict.fromkeys(filter(None, map(chat.units.get, ids)))
        else:
            units = dict.fromkeys(reversed(chat.messages))
        label = ", ".join(topics) if topics else chat.title
        return await asyncio.to_thread(self._found, label, units, max_tokens)

    async def of_messages(
        self, named: Sequence[Mapping[str, Any]], person: PersonId, max_tokens: int
    ) -> SourceContent:
        """Messages that were named one by one, in the order named.

        Raises:
            InvalidParams: `named` has another form.
            CommandFailed: A chat or message does not exist, or can't be recalled.
        """
        units: dict[RecalledMessage, None] = {}
        titles: dict[ChatId, str] = {}
        for entry in named:
            checked, ids = _checked_entry(entry)
            chat = await self._chat(checked, person)
            titles[checked] = chat.title
            for message_id in ids:
                unit = chat.units.get(message_id)
                if unit is None:
                    raise CommandFailed(
                        f"The chat {checked!r} has no message {message_id!r} that can be recalled: "
                        "it is not there, or hidden, failed or empty."
                    )
                units[unit] = None
        more = f" and {len(titles) - 1} more" if len(titles) > 1 else ""
        label = f"{next(iter(titles.values()), '')}{more}"
        return await asyncio.to_thread(self._found, label, units, max_tokens)

    async def of_query(
        self, query: str, person: PersonId, max_tokens: int, *, into: ChatId
    ) -> SourceContent:
        """The messages of all other chats about a query.

        Raises:
            CommandFailed: If there are none.
        """
        ranking = await self.archive.find(query, person, without=into)
        return await self._best_of(query, ranking.messages, person, max_tokens)

    async def of_topic(
        self, topic_id: str, person: PersonId, max_tokens: int, *, into: ChatId
    ) -> SourceContent:
        """The messages of a topic of all chats: those closest to its label, then the newest.

        Raises:
            CommandFailed: There is no such topic, or nothing of it can be recalled.
        """
        label, messages = await self.topic_of_all(topic_id, person)
        others = dict.fromkeys(each for each in messages if each[0] != into)
        ranking = await self.archive.find(label, person, without=into)
        best = [each for each in ranking.messages if each in others]
        return await self._best_of(label, [*dict.fromkeys((*best, *others))], person, max_tokens)

    async def _best_of(
        self, label: str, ranked: Sequence[tuple[ChatId, MessageId]], person: PersonId, most: int
    ) -> SourceContent:
        """The found messages that can be recalled, as many as may fit."""
        chats: dict[ChatId, RecalledChat | None] = {}
        units: dict[RecalledMessage, None] = {}
        left, gone = most * _SPARE, 0
        for chat_id, message_id in ranked:
            if left <= 0 or len(units) >= MOST_REFERENCES:
                break
            if chat_id not in chats:
                chats[chat_id] = await self.messages.chat(chat_id, person)
            chat = chats[chat_id]
            unit = chat.units.get(message_id) if chat else None
            if unit is None:
                gone += 1
            elif unit not in units:
                units[unit] = None
                left -= await asyncio.to_thread(self._tokens, unit)
        return _checked(
            SourceContent(label, tuple(unit.reference for unit in units), len(ranked) - gone)
        )

    def _found(
        self, label: str, units: Iterable[RecalledMessage], max_tokens: int
    ) -> SourceContent:
        references: list[Reference] = []
        left, count = max_tokens * _SPARE, 0
        for unit in units:
            count += 1
            if left > 0 and len(references) < MOST_REFERENCES:
                references.append(unit.reference)
                left -= self._tokens(unit)
        return _checked(SourceContent(label, tuple(references), count))

    def _tokens(self, unit: RecalledMessage) -> int:
        return self.count_tokens(unit.text) + _PER_MESSAGE

    async def _chat(self, chat_id: ChatId, person: PersonId) -> RecalledChat:
        chat = await self.messages.chat(chat_id, person)
        if chat is None:
            raise CommandFailed(
                f"The chat {chat_id!r} can't be recalled: it does not exist, or is private."
            )
        return chat

    async def _about(self, chat_id: ChatId, topics: Sequence[str]) -> list[MessageId]:
        """The messages of a chat that are about topics, best first."""
        view = with_selection(await self.chat_filter.view(chat_id), topics)
        whole = replace(view, history=view.messages)
        decision = await self.selector.decide(whole)
        if decision.problem:
            raise CommandFailed(decision.problem)
        found = decision.selection.reasons.found
        if found is None or decision.selection.fell_back:
            return []
        kept = found.kept(decision.selection.reasons.threshold).tolist()
        best = found.best.tolist()
        rows = [
            (-score, place, message.id)
            for place, (message, is_kept, score) in enumerate(
                zip(decision.candidates, kept, best, strict=True)
            )
            if is_kept
        ]
        return [message_id for _, _, message_id in sorted(rows)]


def _checked(found: SourceContent) -> SourceContent:
    if not found.references:
        raise CommandFailed(f"Nothing was found about {found.label!r} that could be recalled.")
    return found


def _checked_entry(entry: Mapping[str, Any]) -> tuple[ChatId, list[MessageId]]:
    match entry:
        case {"chat_id": str(chat_id), "message_ids": [*ids]} if all(
            isinstance(message_id, str) for message_id in ids
        ):
            return check_chat_id(chat_id), [MessageId(message_id) for message_id in ids]
    raise InvalidParams('messages: expected {"chat_id", "message_ids"} for each chat')
