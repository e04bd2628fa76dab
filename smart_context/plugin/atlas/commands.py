"""Commands that show the atlas and its messages, and pause what is done for it."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from smart_context.base.errors import CommandFailed, InvalidParams, ModelFailed, SmartContextError
from smart_context.base.text.bm25 import Bm25
from smart_context.base.text.words import content_words
from smart_context.base.times import moment_of
from smart_context.base.values import CountTokens, JsonObject, PersonId
from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.host.commands.registry import Caller
from smart_context.llm.models import Matrix
from smart_context.plugin.atlas.atlases import Atlases, PersonsAtlas
from smart_context.plugin.atlas.background import BackgroundExtraction
from smart_context.relevance.vectors.cache import EmbeddingCache
from smart_context.storage.ports import Chats
from smart_context.topics.atlas.account import Span, account, places_in
from smart_context.topics.atlas.finding import found_topics
from smart_context.topics.atlas.values import Topic

PATIENCE_S = 5.0
"""How long a call waits for chats to be read; then it shows what there is."""

_MOST_LISTED = 1_000
_DATE_LENGTH = len("2026-01-31")
_LONGEST_QUERY = 2_000

Query = Annotated[str, Field(max_length=_LONGEST_QUERY)]
Limit = Annotated[int, Field(ge=0)]


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
    ) -> JsonObject:
        """Show your chats' topics, merged into topics and themes; `wait` until all chats are read.

        `since` and `until` are ISO 8601 dates or times, both included. With `query`, the topics
        that fit it, best first; else the largest first.
        """
        span = span_of(since, until)
        mine = await self._current(caller.person, wait=wait)
        vector = await self._vector(query)
        archive, titles = mine.archive, mine.titles()
        state = {"pending": mine.pending, "built_at": mine.built_at or None}

        def work() -> JsonObject:
            chosen = found_topics(archive, query, vector) if query.strip() else None
            return account(archive, titles, span=span, chosen=chosen, limit=limit)

        return {**await asyncio.to_thread(work), **state}

    async def atlas_messages(
        self,
        topic_id: str,
        caller: Caller,
        query: Query = "",
        since: str = "",
        until: str = "",
        offset: Limit = 0,
        limit: Limit = 50,
    ) -> JsonObject:
        """Show the messages of a topic of the atlas, newest first; with `query`, best first."""
        span = span_of(since, until)
        mine = await self._current(caller.person, wait=False)
        topic = _topic(mine, topic_id)
        places = await asyncio.to_thread(_newest_first, mine, topic, span)
        last = offset + min(limit, _MOST_LISTED)
        if query.strip():
            rows = await self._rows(mine, places)
            order = await self._best_first(query, [row["text"] for row in rows])
            return {
                "messages": self._counted([rows[n] for n in order[offset:last]]),
                "total": len(places),
            }
        rows = await self._rows(mine, places[offset:last])
        return {"messages": self._counted(rows), "total": len(places)}

    async def named_messages(
        self, topic_id: str, person: PersonId
    ) -> tuple[str, list[tuple[ChatId, MessageId]]]:
        """The label of a topic, and its messages by chat and id, newest first.

        Raises:
            CommandFailed: The person's atlas has no such topic.
        """
        mine = await self._current(person, wait=False)
        topic = _topic(mine, topic_id)
        places = await asyncio.to_thread(_newest_first, mine, topic, Span())
        rows = await self._rows(mine, places)
        return topic.label, [(row["chat_id"], row["message_id"]) for row in rows]

    async def pause_atlas(self, caller: Caller, paused: bool | None = None) -> JsonObject:
        """Pause finding topics of chats that have none, or go on; without `paused`, just ask."""
        if paused is not None:
            self.background.pause(caller.person, paused=paused)
        mine = self.atlases.known(caller.person)
        return {"paused": self.background.is_paused(caller.person), "pending": mine.pending}

    async def _current(self, person: PersonId, *, wait: bool) -> PersonsAtlas:
        """The atlas as it is now, or after some seconds as far as it was built."""
        refreshing = self.spawn(self.atlases.refreshed(person))
        done, _ = await asyncio.wait([refreshing], timeout=None if wait else PATIENCE_S)
        return refreshing.result() if done else self.atlases.known(person)

    async def _vector(self, query: str) -> Matrix:
        """What a query means; of no length if there is none, or the model fails."""
        if query.strip():
            try:
                return np.asarray((await self.cache.queries([query]))[0])
            except ModelFailed:
                pass
        return np.zeros(1, dtype=np.float32)

    async def _rows(
        self, mine: PersonsAtlas, places: Sequence[tuple[ChatId, int]]
    ) -> list[JsonObject]:
        """The messages at these places; those that are gone meanwhile are left out."""
        titles = mine.titles()
        read: dict[ChatId, Sequence[Message]] = {}
        for chat_id in dict.fromkeys(chat_id for chat_id, _ in places):
            try:
                read[chat_id] = await self.chats.messages(chat_id)
            except SmartContextError:
                read[chat_id] = ()
        return [
            {
                "chat_id": chat_id,
                "title": titles.get(chat_id, chat_id),
                "message_id": message.id,
                "role": message.role,
                "created_at": message.created_at or None,
                "text": message.text,
            }
            for chat_id, place in places
            if place < len(read[chat_id])
            for message in (read[chat_id][place],)
        ]

    def _counted(self, rows: Sequence[JsonObject]) -> list[JsonObject]:
        return [{**row, "tokens": self.count_tokens(row["text"])} for row in rows]

    async def _best_first(self, query: str, texts: Sequence[str]) -> list[int]:
        return await asyncio.to_thread(_by_words, query, texts)


def span_of(since: str, until: str) -> Span:
    """The span of time between two ISO dates or times; a date means the whole day.

    Raises:
        InvalidParams: One of them is neither.
    """
    ends: list[float | None] = []
    for name, text in (("since", since), ("until", until)):
        plain = text.strip()
        moment = moment_of(plain) if plain else None
        if plain and moment is None:
            raise InvalidParams(
                f"{name}: expected a date or time such as 2026-01-31, found {plain[:40]!r}"
            )
        if moment is not None and name == "until" and len(plain) <= _DATE_LENGTH:
            moment += timedelta(days=1, seconds=-1)
        ends.append(None if moment is None else moment.timestamp())
    return Span(since=ends[0], until=ends[1])


def _topic(mine: PersonsAtlas, topic_id: str) -> Topic:
    topic = next((t for t in mine.archive.atlas.topics if t.id == topic_id), None)
    if topic is None:
        raise CommandFailed(
            f"There is no topic {topic_id[:80]!r}; smart_context.atlas lists the topics."
        )
    return topic


def _newest_first(mine: PersonsAtlas, topic: Topic, span: Span) -> list[tuple[ChatId, int]]:
    """The messages of a topic as chats and places in them; those without a time come last."""
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


def _by_words(query: str, texts: Sequence[str]) -> list[int]:
    index = Bm25([content_words(text) for text in texts])
    scores = index.scores(content_words(query))
    return sorted(range(len(texts)), key=lambda n: -scores[n])
