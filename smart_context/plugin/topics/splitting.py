"""The command that gives topics of a chat a chat of their own, and what goes along with them."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from smart_context.base.errors import CommandFailed, InvalidParams
from smart_context.base.times import utc_stamp
from smart_context.base.values import JsonObject
from smart_context.chat.copies import SPLIT_FROM, SPLITS, copy_of, with_companions
from smart_context.chat.documents.document import no_messages
from smart_context.chat.documents.lineage import NOBODY
from smart_context.chat.ids import check_chat_id, new_chat_id, new_message_id
from smart_context.chat.messages import ChatId, Message, MessageId, give_ids, messages_of
from smart_context.chat.topic_summaries import summarized_by
from smart_context.plugin.choices.sidecars import ChatSidecar, Sidecars
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.selection.chat_filter import ChatFilter
from smart_context.plugin.selection.selector import ChatView, ContextSelector
from smart_context.plugin.topics.members import NamedTopics, named_topics
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


LONGEST_TITLE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Splitting:
    """Splits chats by topic."""

    chats: Chats
    chat_filter: ChatFilter
    selector: ContextSelector
    belongings: Belongings

    async def split(
        self, chat_id: str, topics: list[str], title: str = "", move: bool = False
    ) -> JsonObject:
        """Copy the messages of topics into a new chat, with what belongs to them.

        Tool calls, results, questions of answers and standing instructions come along. With
        `move`, the messages that belong to no other topic are hidden here.
        """
        checked = check_chat_id(chat_id)
        words = " ".join(title.split())
        if len(words) > LONGEST_TITLE:
            raise InvalidParams(
                f"title: expected at most {LONGEST_TITLE} characters, found {len(words)}"
            )
        view = await self.chat_filter.view(checked)
        named = await named_topics(view, self.selector, topics)
        chosen = _chosen(view, named)
        if not any(message.id in named.ids for message in chosen):
            raise CommandFailed("None of this chat's messages belongs to these topics.")
        ids = {message.id: new_message_id() for message in chosen}
        made = new_chat_id()
        at = utc_stamp()
        origin = {"chat_id": checked, "topics": list(named.labels), "at": at}
        document = await self._document(checked, ids, words or ", ".join(named.labels), origin)
        await self.chats.save(made, document, reader=secrets.token_hex(4))
        await self.belongings.bring(checked, made, ids)
        await self._link(checked, {**origin, "chat_id": made})
        if move:
            own = _own(view, named, chosen)
            await self.chat_filter.change(checked, lambda state: state.hide(own))
        return {"chat_id": made, "messages": len(ids)}

    async def _document(
        self,
        chat_id: ChatId,
        ids: Mapping[MessageId, MessageId],
        title: str,
        origin: JsonObject,
    ) -> JsonObject:
        stored = await self.chats.load(chat_id, reader=NOBODY)
        give_ids(stored)  # which depend on a message's place
        entries = [e for e in stored["messages"] if isinstance(e, dict) and e["id"] in ids]
        return {**copy_of(stored, entries, ids), "title": title, SPLIT_FROM: origin}

    async def _link(self, chat_id: ChatId, split: JsonObject) -> None:
        def link(document: JsonObject) -> None:
            known = document.get(SPLITS)
            document[SPLITS] = [*(known if isinstance(known, list) else ()), split]

        await self.chats.update(chat_id, link, since=no_messages, creates=False)


def _chosen(view: ChatView, named: NamedTopics) -> list[Message]:
    """The messages that go into the new chat, in their order.

    A summary goes along if all that it stands for does.
    """
    said = [m for m in view.messages if not (m.is_summary or m.is_extracted)]
    standing = {m.id for m in said[:1] if m.role == "system"} | view.sticky_ids
    chosen = {m.id for m in with_companions(said, named.ids | standing)}
    present = {message.id for message in view.messages}
    named_by = {m.id: present.intersection(summarized_by(m)) for m in view.messages}
    whole = {name for name, ids in named_by.items() if ids and chosen >= ids}
    return [message for message in view.messages if message.id in chosen | whole]


def _own(view: ChatView, named: NamedTopics, chosen: Sequence[Message]) -> list[MessageId]:
    """The messages that were moved: of no other topic, and no standing instructions."""
    standing = {m.id for m in view.messages[:1] if m.role == "system"} | view.sticky_ids
    return [m.id for m in chosen if m.id not in named.elsewhere and m.id not in standing]
