"""The command that copies topics of a chat into a new chat, with all that belongs to them."""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from smart_context.base.errors import CommandFailed, InvalidParams
from smart_context.base.times import utc_stamp
from smart_context.base.values import JsonObject
from smart_context.chat.copies import SPLIT_FROM, SPLITS, copy_of, with_companions
from smart_context.chat.documents.document import no_messages
from smart_context.chat.documents.lineage import NEVER_SAVES
from smart_context.chat.ids import new_chat_id, new_message_id
from smart_context.chat.messages import (
    ChatId,
    Message,
    MessageId,
    give_ids,
    messages_of,
    summarized_by,
)
from smart_context.plugin.choices.sidecars import ChatSidecar, Sidecars
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.selection.chat_filter import ChatFilter, with_selection
from smart_context.plugin.selection.decision import ChatView
from smart_context.plugin.selection.selector import ContextSelector
from smart_context.relevance.vectors.cache import EmbeddingCache
from smart_context.storage.ports import Chats
from smart_context.topics.stored import public_topics, stored_sticky_ids, stored_topics, to_stored
from smart_context.topics.values import Extraction, Topic


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedTopics:
    """Topics that a user has named, with the narrower topics in them."""

    labels: tuple[str, ...]  # their labels, each once, in the order in which they were named
    ids: frozenset[MessageId]
    # the messages of all other topics, each with the label of one of them. Wider topics that hold
    # a named one don't count as other topics.
    elsewhere: Mapping[MessageId, str]


async def named_topics(
    view: ChatView, selector: ContextSelector, names: Sequence[str]
) -> NamedTopics:
    """The topics of these labels or ids.

    Messages that were said while one of them was picked belong to it, even before an extraction.

    Raises:
        InvalidParams: If none is named, or the chat has no topic of a name.
        CommandFailed: If a topic's messages are unknown, and can't be found.
    """
    topics = stored_topics(list(view.topics), view.sidecar.topics)
    named = [topic_named(name, topics) for name in names]
    if not named:
        raise InvalidParams("topics: expected at least one topic")
    within = _with_parts(named, topics)
    ids = {message_id for topic in within for message_id in topic.message_ids}
    for topic in named:
        if not any(part.message_ids for part in _with_parts([topic], topics)):
            ids |= await _similar(view, selector, topic.label)
    labels = {topic.label for topic in (*named, *within)}
    held = view.sidecar.state.edits.held(topics).within
    ids |= {message_id for message_id, belongs in held.items() if labels.intersection(belongs)}
    own = {topic.id for topic in within}
    wider = {topic.parent_id for topic in within}
    others = [topic for topic in topics if topic.id not in own and topic.id not in wider]
    return NamedTopics(
        labels=tuple(dict.fromkeys(topic.label for topic in named)),
        ids=frozenset(ids),
        elsewhere={i: topic.label for topic in reversed(others) for i in topic.message_ids},
    )


def topic_named(name: str, topics: Sequence[Topic], parameter: str = "topics") -> Topic:
    """The topic of this label or id.

    Raises:
        InvalidParams: If there is none; names `parameter`.
    """
    wanted = name.strip()
    for is_it in (
        lambda topic: topic.label == wanted,
        lambda topic: topic.id == wanted,
        lambda topic: topic.label.casefold() == wanted.casefold(),
    ):
        if found := next(filter(is_it, topics), None):
            return found
    known = ", ".join(topic.label for topic in topics) or "none yet"
    raise InvalidParams(f"{parameter}: this chat has no topic {wanted[:80]!r}; its topics: {known}")


def _with_parts(named: Iterable[Topic], topics: Sequence[Topic]) -> list[Topic]:
    """Topics with all narrower ones in them."""
    found = {topic.id: topic for topic in named}
    waiting = list(found)
    while waiting:
        inside = waiting.pop()
        for topic in topics:
            if topic.parent_id == inside and topic.id not in found:
                found[topic.id] = topic
                waiting.append(topic.id)
    return list(found.values())


async def keep_similar(
    chat_id: ChatId, chat_filter: ChatFilter, selector: ContextSelector, sidecars: Sidecars
) -> JsonObject | None:
    """Give the topics of a chat's file the messages that each keeps by similarity, if unknown.

    The file is unchanged, even if they keep none: its topics stay until the chat's next extraction,
    which still reads the whole chat.

    Returns:
        The payload of `TOPICS_UPDATED`; `None` if topics must be found instead.
    """
    view = await chat_filter.view(chat_id)
    topics = stored_topics(list(view.topics), view.sidecar.topics)
    if not topics or view.sidecar.seen or any(topic.message_ids for topic in topics):
        return None
    kept = await _kept(view, selector, [topic.label for topic in topics])
    found = [replace(topic, message_ids=_of(topic.label, kept)) for topic in topics]
    await sidecars.keep_topics(chat_id, found)
    return {
        "chat_id": chat_id,
        "topics": public_topics(view.topics),
        "total_messages": len(view.messages),
    }


async def placed_topics(view: ChatView, selector: ContextSelector) -> Sequence[Topic]:
    """The topics of a chat with their messages: similar ones if the extraction named none.

    They have none if the comparison fails, or before the first extraction.
    """
    topics = stored_topics(list(view.topics), view.sidecar.topics)
    if not view.sidecar.seen or not topics or any(topic.message_ids for topic in topics):
        return topics
    try:
        kept = await _kept(view, selector, [topic.label for topic in topics])
    except CommandFailed:
        return topics
    return [replace(topic, message_ids=_of(topic.label, kept)) for topic in topics]


def _of(label: str, kept: Mapping[MessageId, str]) -> tuple[MessageId, ...]:
    return tuple(message_id for message_id, topic in kept.items() if topic == label)


async def _similar(view: ChatView, selector: ContextSelector, label: str) -> set[MessageId]:
    """The messages that a topic keeps by similarity."""
    return set(await _kept(view, selector, [label]))


async def _kept(
    view: ChatView, selector: ContextSelector, labels: Sequence[str]
) -> dict[MessageId, str]:
    """The messages that topics keep by similarity, in order, each with the label of one topic."""
    picked = with_selection(view, labels)
    settings = selector.settings_of(picked.sidecar.state)
    settings = replace(settings, recent_messages=0, keep_pairs=False)
    decision = await selector.decide(picked, settings=settings)
    if decision.problem:
        raise CommandFailed(decision.problem)
    ids = decision.selection.reasons.ids
    return {ids[position]: label for position, label in decision.selection.kept_by_topic()}


Renamed = Mapping[MessageId, MessageId]
"""The messages copied into another chat, each with its id there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedChoices:
    """Copies the topics, choices and vectors of copied messages to their new chat."""

    chats: Chats
    sidecars: Sidecars
    cache: EmbeddingCache

    async def bring(
        self, source: ChatId, target: ChatId, ids: Renamed, *, picked: Sequence[str] = ()
    ) -> None:
        """Give a stored chat the topics, marks and vectors of the messages that it was made of.

        Pins and hidden messages, the role, contexts and names of topics are copied; only the topics
        in `picked` are picked. Nothing is embedded again.
        """
        public = await self.chats.value(source, "topics")
        sidecar = await self.sidecars.of(source)
        known = stored_topics(public, sidecar.topics)
        topics = [topic for topic in (_of_those(topic, ids) for topic in known) if topic.count]
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


def _of_those(topic: Topic, ids: Renamed) -> Topic:
    """A topic with only its copied messages; a topic without known messages is unchanged."""
    if not topic.message_ids:
        return topic
    mine = tuple(ids[each] for each in topic.message_ids if each in ids)
    return replace(topic, message_ids=mine, count=len(mine))


def _state(sidecar: ChatSidecar, ids: Renamed, picked: Sequence[str]) -> FilterState:
    before = sidecar.state
    edits = replace(
        before.edits,
        settled=_renamed(before.edits.settled, ids),
        messages=before.edits.messages.renamed(ids),
    )
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
    belongings: CopiedChoices

    async def split(
        self, chat_id: ChatId, topics: list[str], title: str = "", move: bool = False
    ) -> JsonObject:
        """Copy the messages of topics into a new chat, with what belongs to them.

        Tool calls, results, questions of answers and standing instructions come along. With
        `move`, the messages that belong to no other topic are hidden here.
        """
        words = " ".join(title.split())
        if len(words) > LONGEST_TITLE:
            raise InvalidParams(
                f"title: expected at most {LONGEST_TITLE} characters, found {len(words)}"
            )
        view = await self.chat_filter.view(chat_id)
        named = await named_topics(view, self.selector, topics)
        chosen = _chosen(view, named)
        if not any(message.id in named.ids for message in chosen):
            raise CommandFailed("None of this chat's messages belongs to these topics.")
        ids = {message.id: new_message_id() for message in chosen}
        made = new_chat_id()
        at = utc_stamp()
        origin = {"chat_id": chat_id, "topics": list(named.labels), "at": at}
        document = await self._document(chat_id, ids, words or ", ".join(named.labels), origin)
        await self.chats.save(made, document, reader=secrets.token_hex(4))
        await self.belongings.bring(chat_id, made, ids)
        await self._link(chat_id, {**origin, "chat_id": made})
        if move:
            own = _own(view, named, chosen)
            await self.chat_filter.change(chat_id, lambda state: state.hide(own))
        return {"chat_id": made, "messages": len(ids)}

    async def _document(
        self,
        chat_id: ChatId,
        ids: Mapping[MessageId, MessageId],
        title: str,
        origin: JsonObject,
    ) -> JsonObject:
        stored = await self.chats.load(chat_id, reader=NEVER_SAVES)
        give_ids(stored)  # fields that depend on a message's place
        entries = [e for e in stored["messages"] if isinstance(e, dict) and e["id"] in ids]
        return {**copy_of(stored, entries, ids), "title": title, SPLIT_FROM: origin}

    async def _link(self, chat_id: ChatId, split: JsonObject) -> None:
        def link(document: JsonObject) -> None:
            known = document.get(SPLITS)
            document[SPLITS] = [*(known if isinstance(known, list) else ()), split]

        await self.chats.update(chat_id, link, since=no_messages, creates=False)


def _chosen(view: ChatView, named: NamedTopics) -> list[Message]:
    """The messages that go into the new chat, in their order.

    A summary is copied if all messages that it replaces are.
    """
    said = [m for m in view.messages if not (m.is_summary or m.is_extracted)]
    standing = {m.id for m in said[:1] if m.role == "system"} | view.sticky_ids
    chosen = {m.id for m in with_companions(said, named.ids | standing)}
    present = {message.id for message in view.messages}
    named_by = {m.id: present.intersection(summarized_by(m)) for m in view.messages}
    whole = {name for name, ids in named_by.items() if ids and chosen >= ids}
    return [message for message in view.messages if message.id in chosen | whole]


def _own(view: ChatView, named: NamedTopics, chosen: Sequence[Message]) -> list[MessageId]:
    """The messages that were moved: without those of other topics and standing instructions."""
    standing = {m.id for m in view.messages[:1] if m.role == "system"} | view.sticky_ids
    return [m.id for m in chosen if m.id not in named.elsewhere and m.id not in standing]
