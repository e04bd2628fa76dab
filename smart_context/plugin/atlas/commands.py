"""Commands that show the atlas and its messages, and pause the background extraction for it."""

import asyncio
import logging
import math
from collections import defaultdict
from collections.abc import Callable, Coroutine, Hashable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from smart_context.base.errors import (
    CommandFailed,
    InvalidParams,
    ModelFailed,
    SmartContextError,
    StoreFailed,
)
from smart_context.base.text.bm25 import Bm25
from smart_context.base.text.words import content_words
from smart_context.base.times import moment_of, zone_named
from smart_context.base.values import OWNER, CountTokens, JsonObject, PersonId
from smart_context.chat.listed.rows import plain_line
from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.host.commands.registry import Caller
from smart_context.host.turn import Turn
from smart_context.llm.models import Matrix
from smart_context.plugin.atlas.atlases import Atlases, PersonsAtlas
from smart_context.relevance.vectors.cache import EmbeddingCache
from smart_context.relevance.vectors.warm import message_key
from smart_context.storage.ports import Chats
from smart_context.topics.atlas.account import TimeSpan, account, found_topics, places_in
from smart_context.topics.atlas.values import AtlasTopic

FIRST_AFTER_S = 5.0
"""Delay of background work after the start; a command that ends sooner leaves it to a server."""

_QUIET_S = 1.0
_LOOK_AGAIN_EVERY = 16
"""The number of chats after which the atlas is brought up to date; also done at the end."""

Latest = Callable[[Hashable, Coroutine[Any, Any, None]], "asyncio.Task[None]"]


@dataclass(eq=False)
class BackgroundExtraction:
    """Finds topics, newest chats first, one chat at a time; gives way to running turns."""

    atlases: Atlases
    extract: Callable[[PersonId, ChatId], Coroutine[Any, Any, None]]
    is_running: Callable[[ChatId], bool]
    latest: Latest
    logger: logging.Logger
    _turns: set[str] = field(default_factory=set, init=False)
    _changed: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _free: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _current: asyncio.Task[None] | None = field(default=None, init=False)
    _failed: dict[ChatId, str] = field(default_factory=dict, init=False)
    _paused: set[PersonId] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        self._free.set()

    def pause(self, person: PersonId, *, paused: bool) -> None:
        """Stop finding topics of a person's chats, or go on."""
        if paused:
            self._paused.add(person)
            self._give_way()
        else:
            self._paused.discard(person)
        self._changed.set()

    def is_paused(self, person: PersonId) -> bool:
        """True if no topics are found for a person's chats until they go on."""
        return person in self._paused

    async def turn_begun(self, turn: Turn) -> None:
        """Give way to a turn: leave the current chat for later."""
        self._turns.add(turn.id)
        self._free.clear()
        self._give_way()

    async def turn_over(self, turn: Turn) -> None:
        """Go on once no turn is running."""
        self._turns.discard(turn.id)
        if not self._turns:
            self._free.set()
        self._changed.set()

    async def look(self, _changed: object = None) -> None:
        """Wake the search for chats without topics."""
        self._changed.set()

    async def run(self) -> None:
        """Work until cancelled."""
        await asyncio.sleep(FIRST_AFTER_S)
        self.atlases.known(OWNER)
        self._changed.set()
        while True:
            await self._changed.wait()
            await asyncio.sleep(_QUIET_S)
            await self._free.wait()
            self._changed.clear()
            for person in self.atlases.persons:
                await self._find_topics(person)

    async def _find_topics(self, person: PersonId) -> None:
        while waiting := self._waiting(mine := await self._refreshed(person)):
            if self.is_paused(person):
                return
            for chat_id in waiting[:_LOOK_AGAIN_EVERY]:
                await self._free.wait()
                if not self.is_running(chat_id) and not self.is_paused(person):
                    await self._find(person, chat_id, mine.archive.chats[chat_id].revision)

    async def _refreshed(self, person: PersonId) -> PersonsAtlas:
        try:
            return await self.atlases.refreshed(person)
        except StoreFailed as error:
            self.logger.warning("The atlas can't be brought up to date: %s", error)
            return PersonsAtlas()

    def _waiting(self, mine: PersonsAtlas) -> list[ChatId]:
        chats = mine.archive.chats
        return [
            row.id
            for row in mine.rows
            if (entry := chats.get(row.id)) is not None
            and not entry.is_known
            and self._failed.get(row.id) != entry.revision
            and not self.is_running(row.id)
        ]

    async def _find(self, person: PersonId, chat_id: ChatId, revision: str) -> None:
        """Find one chat's topics; after a failure it is tried again once the chat has changed."""

        async def work() -> None:
            try:
                await self.extract(person, chat_id)
            except SmartContextError as error:
                self.logger.warning("No topics were found in the chat %s: %s", chat_id, error)

        self._current = self.latest(("topics", chat_id), work())
        await asyncio.wait([self._current])
        if not self._current.cancelled():
            self._failed[chat_id] = revision
        self._current = None

    def _give_way(self) -> None:
        if self._current is not None:
            self._current.cancel()


PATIENCE_S = 5.0
"""Time that a call waits for chats to be read; then it shows the atlas as far as it is built."""

_MOST_LISTED = 1_000
_BEGINNING = 600
_DATE_LENGTH = len("2026-01-31")
_LONGEST_QUERY = 2_000
_LONGEST_ZONE = 100

Query = Annotated[str, Field(max_length=_LONGEST_QUERY)]
Limit = Annotated[int, Field(ge=0)]
ZoneName = Annotated[str, Field(max_length=_LONGEST_ZONE)]


@dataclass(frozen=True, slots=True, kw_only=True)
class AtlasCommands:
    """Shows the caller's atlas."""

    atlases: Atlases
    chats: Chats
    cache: EmbeddingCache
    count_tokens: CountTokens
    background: BackgroundExtraction
    spawn: Callable[[Coroutine[Any, Any, PersonsAtlas]], "asyncio.Task[PersonsAtlas]"]

    async def atlas(
        self,
        caller: Caller,
        query: Query = "",
        since: str = "",
        until: str = "",
        limit: Limit | None = None,
        wait: bool = False,
        time_zone: ZoneName = "",
    ) -> JsonObject:
        """Show your chats' topics, merged into topics and themes; `wait` until all chats are read.

        `since` and `until` are ISO 8601 dates or times, both included. With `query`, the topics
        that fit it, best first; else the largest first. Days are those of `time_zone`, an IANA
        name; of UTC without one, or if it is unknown.
        """
        zone = zone_named(time_zone)
        span = span_of(since, until, zone)
        mine = await self._current(caller.person, wait=wait)
        vector = await self._vector(query)
        archive, titles = mine.archive, mine.titles()
        state = {
            "pending": mine.pending,
            "chats_read": sum(len(entry.times) > 0 for entry in archive.chats.values()),
            "built_at": mine.built_at or None,
            "time_zone": str(zone),
        }

        def work() -> JsonObject:
            if not (query.strip() or span.is_limited) and limit is None:
                return mine.account(zone)
            chosen = found_topics(archive, query, vector) if query.strip() else None
            return account(archive, titles, span=span, zone=zone, chosen=chosen, limit=limit)

        return {**await asyncio.to_thread(work), **state}

    async def atlas_messages(  # noqa: PLR0913, PLR0917 - the filters of the atlas, and a page of it
        self,
        topic_id: str,
        caller: Caller,
        query: Query = "",
        since: str = "",
        until: str = "",
        offset: Limit = 0,
        limit: Limit = 50,
        time_zone: ZoneName = "",
    ) -> JsonObject:
        """Show the messages of a topic of the atlas, newest first; with `query`, best first."""
        span = span_of(since, until, zone_named(time_zone))
        mine = await self._current(caller.person, wait=False)
        topic = _topic(mine, topic_id)
        places = await asyncio.to_thread(_newest_first, mine, topic, span)
        last = offset + min(limit, _MOST_LISTED)
        if query.strip():
            found = await self._messages(places)
            order = await self._best_first(query, found)
            shown = [found[n] for n in order[offset:last]]
        else:
            shown = await self._messages(places[offset:last])
        titles = mine.titles()
        rows = [
            {
                "chat_id": chat_id,
                "title": titles.get(chat_id, chat_id),
                "message_id": message.id,
                "role": message.role,
                "created_at": message.created_at or None,
                "text": message.text,
                "beginning": plain_line(message.text, _BEGINNING),
                "tokens": self.count_tokens(message.text),
            }
            for chat_id, message in shown
        ]
        return {"messages": rows, "total": len(places)}

    async def named_messages(
        self, topic_id: str, person: PersonId
    ) -> tuple[str, list[tuple[ChatId, MessageId]]]:
        """The label of a topic, and its messages by chat and id, newest first.

        Raises:
            CommandFailed: The person's atlas has no such topic.
        """
        mine = await self._current(person, wait=False)
        topic = _topic(mine, topic_id)
        places = await asyncio.to_thread(_newest_first, mine, topic, TimeSpan())
        found = await self._messages(places)
        return topic.label, [(chat_id, message.id) for chat_id, message in found]

    async def pause_atlas(self, caller: Caller, paused: bool | None = None) -> JsonObject:
        """Pause finding topics of chats that have none, or go on; without `paused`, just ask."""
        if paused is not None:
            self.background.pause(caller.person, paused=paused)
        mine = self.atlases.known(caller.person)
        return {"paused": self.background.is_paused(caller.person), "pending": mine.pending}

    async def _current(self, person: PersonId, *, wait: bool) -> PersonsAtlas:
        """The current atlas; after `PATIENCE_S`, as far as it is built."""
        refreshing = self.spawn(self.atlases.refreshed(person))
        done, _ = await asyncio.wait([refreshing], timeout=None if wait else PATIENCE_S)
        return refreshing.result() if done else self.atlases.known(person)

    async def _vector(self, query: str) -> Matrix:
        """The vector of a query; a zero if the query is blank or the model fails."""
        if query.strip():
            try:
                return np.asarray((await self.cache.queries([query]))[0])
            except ModelFailed:
                pass
        return np.zeros(1, dtype=np.float32)

    async def _messages(self, places: Sequence[tuple[ChatId, int]]) -> list[tuple[ChatId, Message]]:
        """The messages at these places, without those deleted meanwhile."""
        read: dict[ChatId, Sequence[Message]] = {}
        for chat_id in dict.fromkeys(chat_id for chat_id, _ in places):
            try:
                read[chat_id] = await self.chats.messages(chat_id)
            except SmartContextError:
                read[chat_id] = ()
        return [
            (chat_id, read[chat_id][place])
            for chat_id, place in places
            if place < len(read[chat_id])
        ]

    async def _best_first(
        self, query: str, messages: Sequence[tuple[ChatId, Message]]
    ) -> list[int]:
        """The order of messages, best first: by words and, where vectors are kept, by meaning."""
        vector = await self._vector(query)
        keys: dict[ChatId, list[str]] = defaultdict(list)
        places: dict[ChatId, list[int]] = defaultdict(list)
        for place, (chat_id, message) in enumerate(messages):
            keys[chat_id].append(message_key(message))
            places[chat_id].append(place)
        likeness = np.zeros(len(messages))
        for chat_id, wanted in keys.items() if vector.any() else ():
            rows = await self.cache.kept(chat_id, wanted)
            if rows.shape[1] == len(vector):  # otherwise no vector is kept
                likeness[places[chat_id]] = rows @ vector

        def order() -> list[int]:
            index = Bm25([content_words(message.text) for _, message in messages])
            scores = index.scores(content_words(query))
            best = float(scores.max(initial=0.0)) or 1.0
            return [int(n) for n in np.argsort(-(scores / best + likeness), kind="stable")]

        return await asyncio.to_thread(order)


def span_of(since: str, until: str, zone: tzinfo = UTC) -> TimeSpan:
    """The time span between two ISO dates or times, in seconds; a date means its whole day.

    Args:
        since: The beginning; empty for no limit.
        until: The end; empty for no limit.
        zone: The time zone of dates, and of times that name none.

    Raises:
        InvalidParams: If `since` or `until` is neither a date nor a time.
    """
    ends: list[int | None] = []
    for name, text in (("since", since), ("until", until)):
        plain = text.strip()
        moment = moment_of(plain, zone) if plain else None
        if plain and moment is None:
            raise InvalidParams(
                f"{name}: expected a date or time such as 2026-01-31, found {plain[:40]!r}"
            )
        if moment is not None and name == "until" and len(plain) <= _DATE_LENGTH:
            moment = _end_of_day(moment.astimezone(zone))
        # messages' times are also kept in whole seconds
        ends.append(None if moment is None else math.floor(moment.timestamp()))
    return TimeSpan(since=ends[0], until=ends[1])


def _end_of_day(moment: datetime) -> datetime:
    """The last second of a day, which has 23 or 25 hours when clocks are changed."""
    return moment.replace(hour=23, minute=59, second=59, fold=1)


def _topic(mine: PersonsAtlas, topic_id: str) -> AtlasTopic:
    topic = next((t for t in mine.archive.atlas.topics if t.id == topic_id), None)
    if topic is None:
        raise CommandFailed(
            f"There is no topic {topic_id[:80]!r}; smart_context.atlas lists the topics."
        )
    return topic


def _newest_first(
    mine: PersonsAtlas, topic: AtlasTopic, span: TimeSpan
) -> list[tuple[ChatId, int]]:
    """The messages of a topic, each as its chat and place there; those without a time come last."""
    titles = mine.titles()
    found: dict[ChatId, set[int]] = defaultdict(set)
    for key in topic.members:
        chat_topic = mine.archive.chat_topics.get(key)
        if chat_topic is not None and key[0] in titles:
            found[key[0]].update(map(int, places_in(mine.archive, chat_topic, span)))
    order = {row.id: n for n, row in enumerate(mine.rows)}
    timed = [
        (int(mine.archive.chats[chat_id].times[place]), -order[chat_id], place, chat_id)
        for chat_id, places in found.items()
        for place in places
    ]
    timed.sort(reverse=True)
    return [(chat_id, place) for _, _, place, chat_id in timed]
