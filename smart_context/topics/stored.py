"""Topics on disk: the public list in the chat file, and the assignments next to it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from smart_context.base.results import TopicResult
from smart_context.base.values import JsonObject, text_in
from smart_context.chat.documents.document import MOST_MESSAGES
from smart_context.chat.messages import Message, MessageId
from smart_context.topics.identity import with_ids
from smart_context.topics.values import STICKY_LABEL, Extraction, Topic

VERSION = 1

Objects = list[Mapping[str, Any]]

MOST_COUNTING = 500
"""The most topics read from a chat file, the first ones: no chat needs more, and each is drawn.

The others stay in the file.
"""


def to_stored(
    extraction: Extraction, previous_sticky: Iterable[MessageId], messages: Sequence[Message]
) -> list[JsonObject]:
    """The public `topics` of a chat file; see docs/chats.md.

    The sticky entry comes last, with the ids found earlier and now that are still in the chat, in
    order; without any ids it is left out.
    """
    stored: list[JsonObject] = [
        {"label": topic.label, "count": topic.count}
        | {key: value for key, value in (("id", topic.id), ("parent_id", topic.parent_id)) if value}
        for topic in extraction.topics
    ]
    sticky = {*previous_sticky, *extraction.sticky_ids}
    message_ids = list(dict.fromkeys(m.id for m in messages if m.id in sticky))
    if message_ids:
        stored.append(
            {
                "label": STICKY_LABEL,
                "sticky": True,
                "message_ids": message_ids,
                "count": len(message_ids),
            }
        )
    return stored


def counting(topics: object) -> Objects:
    """The entries of a chat file that count: the first topics, and as many sticky entries."""
    entries = _objects(topics)
    if len(entries) <= MOST_COUNTING:
        return entries
    ordinary, sticky = _told_apart(entries)
    counts = {id(entry) for entry in (*ordinary[:MOST_COUNTING], *sticky[:MOST_COUNTING])}
    return [entry for entry in entries if id(entry) in counts]


def not_counting(topics: object) -> Objects:
    """The topics of a chat file after those that count."""
    return _told_apart(_objects(topics))[0][MOST_COUNTING:]


def _told_apart(entries: Objects) -> tuple[Objects, Objects]:
    """The topics, and the sticky entries."""
    return (
        [entry for entry in entries if entry.get("sticky") is not True],
        [entry for entry in entries if entry.get("sticky") is True],
    )


def stored_topics(topics: object, members: Iterable[Topic] = ()) -> tuple[Topic, ...]:
    """The topics of a chat file without the sticky entry, with their known members.

    Each has an id, even in files written by hand.
    """
    known = {topic.label: topic for topic in members}
    found = (
        replace(
            known.get(entry["label"]) or _unassigned(entry),
            count=entry["count"] if type(entry.get("count")) is int else 0,
            id=text_in(entry.get("id")),
            parent_id=text_in(entry.get("parent_id")),
        )
        for entry in _told_apart(_objects(topics))[0][:MOST_COUNTING]
        if isinstance(entry.get("label"), str)
    )
    return with_ids(tuple(found))


def _unassigned(entry: Mapping[str, Any]) -> Topic:
    """A topic that no extraction has given messages; a file from elsewhere may name them."""
    ids = tuple(map(MessageId, _texts(entry.get("message_ids"))))
    return Topic(label=entry["label"], count=0, message_ids=ids)


def public_topics(topics: object) -> list[TopicResult]:
    """The well-formed topics of a chat file; all except the sticky one have an id."""
    entries = counting(topics)
    found = iter(stored_topics(entries))
    return [
        _sticky(entry) if entry.get("sticky") is True else _with_id(entry, next(found))
        for entry in entries
        if isinstance(entry.get("label"), str)
    ]


def _sticky(entry: Mapping[str, Any]) -> TopicResult:
    ids = list(_texts(entry.get("message_ids")))
    others = cast("TopicResult", dict(entry))
    return {**others, "message_ids": ids, "count": len(ids)}


def _with_id(entry: Mapping[str, Any], topic: Topic) -> TopicResult:
    others = cast("TopicResult", dict(entry))
    return {**others, "count": topic.count, "id": topic.id}


def stored_sticky_ids(topics: object) -> frozenset[MessageId]:
    """The ids of the standing instructions in a chat file's `topics`."""
    return frozenset(
        MessageId(message_id)
        for entry in _objects(topics)
        if entry.get("sticky") is True
        for message_id in _texts(entry.get("message_ids"))
    )


def to_assignments(
    topics: Iterable[Topic], seen: str = "", away: Iterable[Topic] = ()
) -> JsonObject:
    """The document that assigns messages to topics, up to the last message that was read."""
    document = {
        "version": VERSION,
        "seen": seen,
        "topics": [_assignment(topic) for topic in topics],
    }
    others = [_assignment(topic) for topic in away]
    return {**document, "away": others} if others else document


def _assignment(topic: Topic) -> JsonObject:
    entry: JsonObject = {
        "label": topic.label,
        "count": topic.count,
        "message_ids": list(topic.message_ids),
        "keywords": list(topic.keywords),
        "id": topic.id,
        "parent_id": topic.parent_id,
    }
    return entry | ({"named": topic.named} if topic.named else {})


def seen_in(document: object) -> str:
    """The id of the last message that was read for a document of assignments; empty if unknown."""
    return text_in(document.get("seen")) if isinstance(document, Mapping) else ""


def from_assignments(document: object, key: str = "topics") -> tuple[Topic, ...]:
    """The topics of a document of assignments; none if it is damaged or of another version.

    Args:
        key: `away` gives those of other versions of the chat.
    """
    if not isinstance(document, Mapping) or document.get("version") != VERSION:
        return ()
    return tuple(
        Topic(
            label=entry["label"],
            count=entry["count"] if type(entry.get("count")) is int else 1,
            message_ids=tuple(map(MessageId, _texts(entry.get("message_ids")))),
            keywords=_texts(entry.get("keywords")),
            id=text_in(entry.get("id")),
            parent_id=text_in(entry.get("parent_id")),
            named=entry["named"] if type(entry.get("named")) is int else 0,
        )
        for entry in _entries(document.get(key))
        if isinstance(entry.get("label"), str)
    )


def _entries(topics: object) -> list[Mapping[str, Any]]:
    return _objects(topics)[:MOST_COUNTING]


def _objects(topics: object) -> Objects:
    entries = topics if isinstance(topics, list | tuple) else ()
    return [entry for entry in entries if isinstance(entry, dict)]


def _texts(value: object) -> tuple[str, ...]:
    entries = value[:MOST_MESSAGES] if isinstance(value, list) else []
    return tuple(entry for entry in entries if isinstance(entry, str))
