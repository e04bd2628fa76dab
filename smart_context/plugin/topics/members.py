"""The messages of a chat's topics: what extraction assigned to them, or else the similar ones."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from smart_context.base.errors import CommandFailed, InvalidParams
from smart_context.base.values import JsonObject
from smart_context.chat.messages import ChatId, MessageId
from smart_context.plugin.choices.sidecars import Sidecars
from smart_context.plugin.selection.chat_filter import ChatFilter, with_selection
from smart_context.plugin.selection.selector import ChatView, ContextSelector
from smart_context.topics.stored import stored_topics
from smart_context.topics.values import Topic


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedTopics:
    """Topics that a user has named, with the narrower topics in them."""

    labels: tuple[str, ...]  # their labels, each once, in the order in which they were named
    ids: frozenset[MessageId]
    # the messages of all other topics, each with the label of one of them. A wider topic that holds
    # a named one is no other topic.
    elsewhere: Mapping[MessageId, str]


async def named_topics(
    view: ChatView, selector: ContextSelector, names: Sequence[str]
) -> NamedTopics:
    """The topics of these labels or ids.

    Raises:
        InvalidParams: If none is named, or the chat has no topic of a name.
        CommandFailed: If a topic's messages are unknown, and can't be found.
    """
    topics = stored_topics(list(view.topics), view.sidecar.topics)
    named = [_topic_of(name, topics) for name in names]
    if not named:
        raise InvalidParams("topics: expected at least one topic")
    within = _with_parts(named, topics)
    ids = {message_id for topic in within for message_id in topic.message_ids}
    for topic in named:
        if not any(part.message_ids for part in _with_parts([topic], topics)):
            ids |= await _similar(view, selector, topic.label)
    own = {topic.id for topic in within}
    wider = {topic.parent_id for topic in within}
    others = [topic for topic in topics if topic.id not in own and topic.id not in wider]
    return NamedTopics(
        labels=tuple(dict.fromkeys(topic.label for topic in named)),
        ids=frozenset(ids),
        elsewhere={i: topic.label for topic in reversed(others) for i in topic.message_ids},
    )


def _topic_of(name: str, topics: Sequence[Topic]) -> Topic:
    wanted = name.strip()
    for is_it in (
        lambda topic: topic.label == wanted,
        lambda topic: topic.id == wanted,
        lambda topic: topic.label.casefold() == wanted.casefold(),
    ):
        if found := next(filter(is_it, topics), None):
            return found
    known = ", ".join(topic.label for topic in topics) or "none yet"
    raise InvalidParams(f"topics: this chat has no topic {wanted[:80]!r}; its topics: {known}")


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
    """Give the topics of a chat's file the messages that each keeps, where none are known.

    The file stays as it is. A next extraction reads the whole chat, as it would have without this.

    Returns:
        The payload of `TOPICS_UPDATED` if messages are known now.
    """
    view = await chat_filter.view(chat_id)
    topics = stored_topics(list(view.topics), view.sidecar.topics)
    if not topics or view.sidecar.seen or any(topic.message_ids for topic in topics):
        return None
    kept = await _kept(view, selector, [topic.label for topic in topics])
    if not kept:
        return None
    found = [replace(topic, message_ids=_of(topic.label, kept)) for topic in topics]
    await sidecars.keep_topics(chat_id, found)
    return {
        "chat_id": chat_id,
        "topics": list(view.topics),
        "total_messages": len(view.messages),
    }


async def placed_topics(view: ChatView, selector: ContextSelector) -> Sequence[Topic]:
    """The topics of a chat with their messages: similar ones where the extraction named none.

    A topic has none if those can't be found, or before the first extraction.
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
    """The messages that topics keep by similarity, in order, each with one topic's label."""
    picked = with_selection(view, labels)
    settings = selector.settings_of(picked.sidecar.state)
    settings = replace(settings, recent_messages=0, keep_pairs=False)
    decision = await selector.decide(picked, settings=settings)
    if decision.problem:
        raise CommandFailed(decision.problem)
    ids = decision.selection.reasons.ids
    return {ids[position]: label for position, label in decision.selection.kept_by_topic()}
