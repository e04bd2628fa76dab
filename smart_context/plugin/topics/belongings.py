"""What goes with messages into another chat: their topics, marks and vectors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from smart_context.base.values import JsonObject
from smart_context.chat.messages import ChatId, MessageId, messages_of
from smart_context.plugin.choices.sidecar import ChatSidecar
from smart_context.plugin.choices.sidecars import Sidecars
from smart_context.plugin.choices.state import FilterState
from smart_context.relevance.vectors.cache import EmbeddingCache
from smart_context.storage.ports import Chats
from smart_context.topics.stored import stored_sticky_ids, stored_topics, to_stored
from smart_context.topics.values import Extraction, Topic

Renamed = Mapping[MessageId, MessageId]
"""The messages that went into another chat, each with its id there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Belongings:
    """Gives a new chat what belongs to the messages that were copied into it."""

    chats: Chats
    sidecars: Sidecars
    cache: EmbeddingCache

    async def bring(
        self, source: ChatId, target: ChatId, ids: Renamed, *, picked: Sequence[str] = ()
    ) -> None:
        """Give a stored chat the topics, marks and vectors of the messages that it was made of.

        Pins and hidden messages, the role, contexts and names of topics come along; no topic is
        picked but those named. Nothing is embedded again.
        """
        public = await self.chats.value(source, "topics")
        sidecar = await self.sidecars.of(source)
        known = stored_topics(public, sidecar.topics)
        topics = [topic for topic in (_of(topic, ids) for topic in known) if topic.count]
        sticky = [ids[i] for i in stored_sticky_ids(public) if i in ids]

        def store(document: JsonObject) -> None:
            present = messages_of(document)
            document["topics"] = to_stored(Extraction(topics=tuple(topics)), sticky, present)

        await self.chats.update(target, store, creates=False)
        seen = ids.get(MessageId(sidecar.seen)) or next(reversed(list(ids.values())), "")
        if topics:
            await self.sidecars.keep_topics(target, topics, seen=seen)
        state = _state(sidecar, ids, picked)
        await self.sidecars.restore(target, state, instead_of=FilterState(), stored=True)
        await self.cache.copy(source, target, ids)


def _of(topic: Topic, ids: Renamed) -> Topic:
    """A topic with those of its messages that came along; one without known messages stays."""
    if not topic.message_ids:
        return topic
    mine = tuple(ids[each] for each in topic.message_ids if each in ids)
    return replace(topic, message_ids=mine, count=len(mine))


def _state(sidecar: ChatSidecar, ids: Renamed, picked: Sequence[str]) -> FilterState:
    before = sidecar.state
    edits = replace(before.edits, settled=_renamed(before.edits.settled, ids))
    state = replace(
        before,
        active_topics=(),
        pinned=_renamed(before.pinned, ids),
        hidden=_renamed(before.hidden, ids),
        edits=edits,
    )
    return state.switch(enabled=True).select(picked) if picked else state


def _renamed(named: Sequence[MessageId], ids: Renamed) -> tuple[MessageId, ...]:
    return tuple(ids[each] for each in named if each in ids)
