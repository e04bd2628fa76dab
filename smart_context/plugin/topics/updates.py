"""Extracts the topics of chats in the background; see docs/filter.md."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace

import numpy as np

from smart_context.base.errors import SmartContextError
from smart_context.base.lookups import one_request
from smart_context.base.text.languages import main_language
from smart_context.base.values import JsonObject
from smart_context.chat.documents.branches import ids_in_branches
from smart_context.chat.documents.document import Version, no_messages
from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.host.events.events import Emit, Event
from smart_context.llm.models import Embedder, Matrix
from smart_context.plugin.choices.sidecars import ChatSidecar, Sidecars
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.choices.undo import TopicMoves, UndoStep, UndoSteps
from smart_context.relevance.vectors.cache import EmbeddingCache
from smart_context.storage.ports import Chats, Leases
from smart_context.topics.extraction import TopicExtractor, TopicJudge, is_readable
from smart_context.topics.identity import with_chosen_labels, with_ids
from smart_context.topics.moves import Move, come_back, left_behind, moves_between
from smart_context.topics.stored import (
    not_counting,
    public_topics,
    stored_sticky_ids,
    stored_topics,
    to_stored,
)
from smart_context.topics.values import MOST_GROUPED, STICKY_LABEL, Extraction, Previous, Topic

EXTRACTION: Event[JsonObject] = Event("smart_context.extraction")
"""Event: the state of the extraction of a chat's topics has changed."""

TOPICS_UPDATED: Event[JsonObject] = Event("smart_context.topics_updated")
"""Event: a chat's topics are stored; see `store_topics`.

`moved` is present only if messages moved into or out of a topic that the user relies on.
"""

Edited = Callable[[ChatId, Extraction, Sequence[Message], AbstractSet[str]], Awaitable[Extraction]]
"""Applies the user's edits to an extraction; topics with these labels keep their messages."""


class OutOfDate(Exception):
    """A newer extraction of the chat has begun, so this result must not be stored."""


class ChatEmbedder:
    """Embeds a chat's texts through its cache, so that no message is embedded twice."""

    def __init__(self, cache: EmbeddingCache, chat_id: ChatId, messages: Sequence[Message]) -> None:
        self._cache = cache
        self._chat_id = chat_id
        self._messages = messages
        self._said: tuple[Mapping[str, int], str] | None = None

    @property
    def name(self) -> str:
        """The embedding model's name."""
        return self._cache.model

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Shape (len(texts), d), unit rows; see `Embedder`."""
        if self._said is None:
            self._said = await asyncio.to_thread(self._read)
        places, language = self._said
        others = [text for text in texts if text not in places]
        rows = iter(await self._cache.queries(others, language=language)) if others else iter(())
        if len(others) == len(texts):
            return np.array(list(rows), dtype=np.float32).reshape(len(texts), -1)
        vectors = await self._cache.vectors(self._chat_id, self._messages)

        def found() -> Matrix:
            each = [vectors[places[text]] if text in places else next(rows) for text in texts]
            return np.array(each, dtype=np.float32).reshape(len(texts), -1)

        return await asyncio.to_thread(found)

    def _read(self) -> tuple[Mapping[str, int], str]:
        """The places of the messages by their texts, and their main language."""
        texts = [message.text for message in self._messages]
        return {text: place for place, text in enumerate(texts)}, main_language(texts)


@dataclass(frozen=True, slots=True)
class RunningExtractions:
    """The extractions that run in this process, for whichever person."""

    newest: dict[ChatId, object] = field(default_factory=dict)
    under_way: set[ChatId] = field(default_factory=set)
    to_regroup: set[ChatId] = field(default_factory=set)

    def is_running(self, chat_id: ChatId) -> bool:
        """True while an extraction of the chat runs."""
        return chat_id in self.newest

    def is_under_way(self, chat_id: ChatId) -> bool:
        """True while this server extracts the topics of a chat, not while it waits to."""
        return chat_id in self.under_way


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicUpdates:
    """Extracts and stores topics for a person: one extraction per chat, the newest wins."""

    chats: Chats
    sidecars: Sidecars
    extractor: Callable[[Embedder], TopicExtractor]
    judge: Callable[[Embedder], TopicJudge | None]  # `None` without a model for topics
    cache: EmbeddingCache
    emit: Emit
    announce: Callable[[ChatId], Awaitable[None]]
    edited: Edited
    steps: UndoSteps
    # the labels that were picked when a message of the chat was sent
    sent_topics: Callable[[ChatId], Awaitable[AbstractSet[str]]]
    # gives the labels that the person has picked, and all whose choices are in memory
    picked: Callable[[ChatId], Awaitable[AbstractSet[str]]]
    leases: Leases  # so that only one server at a time extracts the topics of a chat
    # gives topics that came without messages those that are similar; true if they had none
    keep_similar: Callable[[ChatId], Awaitable[bool]]
    running: RunningExtractions

    async def find_unseen(self, chat_id: ChatId, *, offline: bool) -> None:
        """Find the topics of a chat that nobody is looking at; tells no client its progress.

        `offline` asks no language model, regardless of the settings for other chats.

        Raises:
            SmartContextError: If they can't be found or stored.
        """
        token = self.running.newest[chat_id] = object()
        try:
            async with self._alone(chat_id):
                await self._extract_and_store(chat_id, token, asks_model=not offline)
        except OutOfDate:
            return
        finally:
            if self.running.newest.get(chat_id) is token:
                del self.running.newest[chat_id]

    async def update(
        self, chat_id: ChatId, *, regroup: bool = False, asks_model: bool = True
    ) -> None:
        """Extract the topics of a chat, store them and tell the clients.

        Args:
            regroup: Group the whole chat again. A newer extraction that replaces this one does so,
                too.
            asks_model: Let a model name and judge the groups, if one is set.

        Ends with exactly one `smart_context.extraction` event: `done`, `failed` or `superseded`.
        """
        token = self.running.newest[chat_id] = object()
        if regroup:
            self.running.to_regroup.add(chat_id)
        self._tell(chat_id, "running")
        try:
            async with self._alone(chat_id):
                await self._extract_and_store(chat_id, token, asks_model=asks_model)
            await self.announce(chat_id)
        except asyncio.CancelledError:
            self._tell(chat_id, "superseded")
            raise
        except OutOfDate:
            self._tell(chat_id, "superseded")
        except SmartContextError as failure:
            await self._leave_as_it_is(chat_id)
            self._tell(chat_id, "failed", str(failure))
        except Exception:
            self._tell(chat_id, "failed", "The topics could not be found; see the log.")
            raise
        else:
            self._tell(chat_id, "done")
        finally:
            if self.running.newest.get(chat_id) is token:
                del self.running.newest[chat_id]

    async def _leave_as_it_is(self, chat_id: ChatId) -> None:
        """After a failure: topics that came without messages have those that are similar."""
        self.running.to_regroup.discard(chat_id)
        with suppress(SmartContextError):
            await self.keep_similar(chat_id)

    @asynccontextmanager
    async def _alone(self, chat_id: ChatId) -> AsyncIterator[None]:
        """Wait until no other server extracts the topics of a chat, then keep others waiting."""
        async with self.leases.held(f"topics {chat_id}"):
            self.running.under_way.add(chat_id)
            try:
                with one_request():  # so that data stored meanwhile by others is read
                    yield
            finally:
                self.running.under_way.discard(chat_id)

    async def follow_version(self, chat_id: ChatId) -> None:
        """Give messages their topics back when another version of the chat is shown.

        No model is asked. Messages without a topic get one after the next answer.
        """
        messages, others = await self.chats.snapshot(chat_id)
        sidecar = await self.sidecars.of(chat_id)
        before = _with_sticky(stored_topics(others.get("topics"), sidecar.topics), others)
        topics = come_back(before, sidecar.away, messages)
        known = {message_id for topic in topics for message_id in topic.message_ids}
        seen = next((message.id for message in reversed(messages) if message.id in known), "")
        shown = tuple(topic for topic in topics if topic.label != STICKY_LABEL)
        sticky = next((t.message_ids for t in topics if t.label == STICKY_LABEL), ())

        found = Extraction(topics=shown, sticky_ids=sticky)
        payload = await store_topics(
            self.chats, chat_id, lambda _, present: to_stored(found, (), present), keeps_rest=True
        )
        away = _left_behind((*before, *sidecar.away), messages, others)
        await self.sidecars.keep_topics(chat_id, shown, seen=seen, away=away)
        self.emit(TOPICS_UPDATED, payload)
        await self.announce(chat_id)

    async def _extract_and_store(self, chat_id: ChatId, token: object, *, asks_model: bool) -> None:
        """Group the chat, store that at once, then let a model name and judge the groups."""
        regroup = chat_id in self.running.to_regroup
        messages, others = await self.chats.snapshot(chat_id)
        sidecar = await self.sidecars.of(chat_id)
        embedder = ChatEmbedder(self.cache, chat_id, tuple(filter(is_readable, messages)))
        before = stored_topics(others.get("topics"), sidecar.topics)
        previous = replace(
            _previous(sidecar, before, await self._staying(chat_id, regroup=regroup)),
            is_titled=bool(others.get("title")),
        )
        found = await self._grouped(embedder, messages, previous, regroup=regroup)
        judge = self.judge(embedder) if asks_model else None
        if judge is None:
            await self._store(chat_id, token, found, regroup=regroup)
            return
        topics = with_ids(found.topics, (*before, *sidecar.topics))
        grouped = replace(found, topics=topics, title="")
        if sidecar.seen or not previous.topics:  # other topics stay until the model has judged
            grouped = await self._store(chat_id, token, grouped, regroup=regroup)
            await self.announce(chat_id)
        now = await self.sidecars.of(chat_id)
        staying = await self._staying(chat_id, regroup=False)
        previous = replace(_previous(now, grouped.topics, staying), seen=previous.seen)
        try:
            judged = await judge.judged(grouped, messages, previous=previous, insists=regroup)
        except SmartContextError:
            await self._give_title(chat_id, found.title)
            raise
        if judged != grouped:
            await self._store(chat_id, token, judged)
        await self._give_title(chat_id, judged.title or found.title)

    async def _grouped(
        self,
        embedder: Embedder,
        messages: Sequence[Message],
        previous: Previous,
        *,
        regroup: bool,
    ) -> Extraction:
        """The topics of the newest messages, joined with the known topics of older ones."""
        newest, older = messages[-MOST_GROUPED:], messages[:-MOST_GROUPED]
        found = await self.extractor(embedder).extract(newest, previous=previous, regroup=regroup)
        if not older:
            return found
        kept = left_behind(previous.topics, frozenset(message.id for message in older))
        topics = come_back(with_ids(found.topics, previous.topics), kept, messages)
        return replace(found, topics=topics)

    async def _store(
        self, chat_id: ChatId, token: object, found: Extraction, *, regroup: bool = False
    ) -> Extraction:
        """Store the topics, with what the user has edited, and tell the clients.

        Returns:
            The extraction as it is stored.

        Raises:
            OutOfDate: If a newer extraction has begun.
        """
        messages, others = await self.chats.snapshot(chat_id)
        sidecar = await self.sidecars.of(chat_id)
        before = stored_topics(others.get("topics"), sidecar.topics)
        gone = (*_with_sticky(before, others), *sidecar.away)
        staying = await self._staying(chat_id, regroup=regroup)
        previous = _previous(sidecar, before, staying)
        topics = with_chosen_labels(found.topics, previous.fixed_labels, before)
        found = replace(found, topics=with_ids(topics, (*before, *sidecar.topics)))
        with one_request():
            edited = await self.edited(chat_id, found, messages, staying)
        extraction = replace(edited, topics=with_ids(edited.topics, (*before, *sidecar.topics)))

        def stored(sticky: AbstractSet[MessageId], present: Sequence[Message]) -> list[JsonObject]:
            if self.running.newest.get(chat_id) is not token:
                raise OutOfDate
            return to_stored(extraction, sticky, present)

        payload = await store_topics(self.chats, chat_id, stored)
        self.running.to_regroup.discard(chat_id)
        if found.title and not others.get("title"):
            await self._give_title(chat_id, found.title)
        hidden = [topic for topic in found.topics if topic.label in sidecar.state.edits.deleted]
        seen = messages[-1].id if messages else ""
        kept, away = (*extraction.topics, *hidden), _left_behind(gone, messages, others)
        await self.sidecars.keep_topics(chat_id, kept, seen=seen, away=away)
        moves = moves_between(
            before, extraction.topics, [message.id for message in messages], regrouped=regroup
        )
        told = await self._not_in_silence(chat_id, sidecar.state, moves)
        if told:
            payload["moved"] = [move.told for move in told]
        self.emit(TOPICS_UPDATED, payload)
        return extraction

    async def _staying(self, chat_id: ChatId, *, regroup: bool) -> AbstractSet[str]:
        """The labels of topics that keep their messages: the picked ones, or none to regroup."""
        return frozenset() if regroup else await self.picked(chat_id)

    async def _give_title(self, chat_id: ChatId, title: str) -> None:
        """Give a chat without a title this one."""
        if title:
            await self.chats.update(
                chat_id,
                lambda document: document.setdefault("title", title),
                since=no_messages,
                creates=False,
            )

    async def _not_in_silence(
        self, chat_id: ChatId, state: FilterState, moves: Sequence[Move]
    ) -> list[Move]:
        """The moves out of or into topics that the user relies on; recorded as a step to undo."""
        if not moves:
            return []
        chosen = {*state.active_topics, *state.edits.renamed.values(), *state.edits.added}
        told = [
            move
            for move in moves
            if not chosen.isdisjoint(move.labels)
            or not set(state.pinned).isdisjoint(move.origin.message_ids)
        ]
        if len(told) < len(moves):
            sent = await self.sent_topics(chat_id)
            told = [move for move in moves if move in told or not sent.isdisjoint(move.labels)]
        if told:
            ids = [message_id for move in told for message_id in move.message_ids]
            now = (await self.sidecars.of(chat_id)).state
            settled = replace(now, edits=now.edits.settle(ids))
            before = ChatSidecar(state=settled)
            step = UndoStep(before=before, after=now, topics=TopicMoves(moves=tuple(told)))
            self.steps.push(chat_id, step)
        return told

    def _tell(self, chat_id: ChatId, state: str, reason: str = "") -> None:
        payload: JsonObject = {"chat_id": chat_id, "state": state}
        if reason:
            payload["reason"] = reason
        self.emit(EXTRACTION, payload)


async def store_topics(
    chats: Chats,
    chat_id: ChatId,
    stored: Callable[[AbstractSet[MessageId], Sequence[Message]], list[JsonObject]],
    *,
    keeps_rest: bool = False,
) -> JsonObject:
    """Store the topics of a chat without copying or reading its messages again.

    Args:
        stored: Makes the stored topics from the ids of standing instructions so far and the
            chat's messages.
        keeps_rest: Keep stored topics beyond the number that counts, since none replaces them.

    Returns:
        The payload of `TOPICS_UPDATED`.
    """
    present: tuple[Message, ...] = ()

    def since(version: Version) -> int:
        nonlocal present
        present = version.messages
        return no_messages(version)

    def change(document: JsonObject) -> None:
        sticky = stored_sticky_ids(document.get("topics"))
        rest = not_counting(document.get("topics")) if keeps_rest else []
        document["topics"] = [*stored(sticky, present), *rest]

    document = await chats.update(chat_id, change, since=since, creates=False)
    topics = public_topics(document["topics"])
    return {"chat_id": chat_id, "topics": topics, "total_messages": len(present)}


def _with_sticky(topics: Sequence[Topic], others: JsonObject) -> tuple[Topic, ...]:
    """The topics, with the standing instructions as one of them if there are any."""
    sticky = tuple(stored_sticky_ids(others.get("topics")))
    entry = Topic(label=STICKY_LABEL, id=STICKY_LABEL, count=len(sticky), message_ids=sticky)
    return (*topics, entry) if sticky else tuple(topics)


def _left_behind(
    topics: Sequence[Topic], messages: Sequence[Message], others: JsonObject
) -> tuple[Topic, ...]:
    """The topics of messages that only other versions of the chat have."""
    present = {message.id for message in messages}
    return left_behind(topics, ids_in_branches({**others, "messages": []}) - present)


def _previous(sidecar: ChatSidecar, shown: Sequence[Topic], staying: AbstractSet[str]) -> Previous:
    """The start of the extraction: the topics shown, the deleted ones, and the user's facts."""
    edits = sidecar.state.edits
    if not sidecar.seen:  # not from an extraction: these messages only resemble the labels
        shown = [replace(topic, message_ids=()) for topic in shown]
    labels = {topic.label for topic in shown}
    deleted = [
        topic
        for topic in sidecar.topics
        if topic.label in edits.deleted and topic.label not in labels
    ]
    held = edits.held((*sidecar.topics, *shown)).with_picked(shown, staying)
    return Previous(
        topics=(*shown, *deleted),
        seen=sidecar.seen,
        settled=frozenset((*edits.settled, *held.within)),
        fixed_labels=frozenset(
            (*sidecar.state.active_topics, *staying, *edits.renamed.values(), *edits.added)
        )
        | held.labels,
        deleted_labels=frozenset(edits.deleted),
        held=held,
        kept_ids=_pinned_from(shown, frozenset(sidecar.state.pinned)),
    )


def _pinned_from(topics: Sequence[Topic], pinned: AbstractSet[MessageId]) -> frozenset[str]:
    """The ids of the topics of pinned messages."""
    return frozenset(topic.id for topic in topics if not pinned.isdisjoint(topic.message_ids))
