"""Reads topics from a model's reply. Pure."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from smart_context.chat.messages import Message, MessageId
from smart_context.topics.naming.labels import clean_label, label_key
from smart_context.topics.values import MOST_TOPICS, STICKY_LABEL, Extraction, Topic

_LONGEST_REPLY = 1_000_000
_LONGEST_TITLE = 80
_MOST_TRIES = 200
_OPENING = re.compile(r"[\[{]")


class ReplyUnusable(ValueError):
    """The reply holds no topics; the message says what was found instead."""


def parsed_reply(reply: str, messages: Sequence[Message], *, shown_share: float = 1) -> Extraction:
    """The topics and sticky ids of a reply.

    Fences and text around the JSON are ignored. Labels are cleaned, and those that differ only in
    case are merged. Counts are limited to the number of messages, and unknown numbers and message
    ids are dropped; a topic may have an invented id. Of more than eight topics, the largest stay.

    Args:
        shown_share: The share of the messages that the model saw; counts are scaled by it.

    Raises:
        ReplyUnusable: If there is no such JSON, or no topic in it.
    """
    document = _document(reply)
    chat = _Chat([message.id for message in messages])
    sticky = chat.known(document.get("sticky_message_ids"))
    merged: dict[str, Topic] = {}
    for entry in document["topics"]:
        topic = _topic(entry, chat, shown_share)
        if topic is None:
            continue
        key = label_key(topic.label)
        if key == label_key(STICKY_LABEL):
            sticky = chat.in_order({*sticky, *topic.message_ids})
        else:
            merged[key] = _merged(merged[key], topic, chat) if key in merged else topic
    if not merged:
        raise ReplyUnusable("found an empty one")
    return Extraction(
        topics=_largest(tuple(merged.values())),
        sticky_ids=sticky,
        title=title_in(document.get("title")),
    )


def title_in(value: object) -> str:
    """A title of one short line; empty if there is none."""
    words = " ".join(value.split()).strip("\"“”'.… ") if isinstance(value, str) else ""
    return words if len(words) <= _LONGEST_TITLE else ""


def _document(reply: str) -> Mapping[str, Any]:
    for found in json_values(reply[:_LONGEST_REPLY]):
        if isinstance(found, dict) and isinstance(found.get("topics"), list):
            return found
        if isinstance(found, list) and found and all(map(_is_entry, found)):
            return {"topics": found}
    start = " ".join(reply.split())[:60]
    raise ReplyUnusable(f"found “{start}”" if start else "found nothing")


def json_objects(text: str) -> Iterator[Mapping[str, Any]]:
    """The outermost JSON objects in the beginning of a text, in order."""
    return (one for one in json_values(text[:_LONGEST_REPLY]) if isinstance(one, dict))


def json_values(text: str) -> Iterator[object]:
    """The outermost JSON lists and objects in a text, in order."""
    decoder = json.JSONDecoder()
    position = 0
    for _ in range(_MOST_TRIES):
        opening = _OPENING.search(text, position)
        if opening is None:
            return
        try:
            value, position = decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            position = opening.start() + 1
            continue
        yield value


def _is_entry(value: object) -> bool:
    return isinstance(value, dict) and "label" in value


class _Chat:
    """The messages that a model was shown, by their number and their id."""

    def __init__(self, ids: Sequence[MessageId]) -> None:
        self._ids = ids
        self._places = {message_id: place for place, message_id in enumerate(ids)}

    def known(self, value: object) -> tuple[MessageId, ...]:
        """The messages that a list names; numbers count from 1, and unknown names are left out."""
        found: set[MessageId] = set()
        for name in value if isinstance(value, list) else ():
            if type(name) is int and 1 <= name <= len(self._ids):
                found.add(self._ids[name - 1])
            elif isinstance(name, str) and name in self._places:
                found.add(MessageId(name))
        return self.in_order(found)

    def in_order(self, ids: set[MessageId]) -> tuple[MessageId, ...]:
        """The ids in the order of the chat."""
        return tuple(sorted(ids, key=self._places.__getitem__))

    def at_most(self, count: float) -> int:
        """A count of at least 1 and at most the number of messages."""
        return max(1, round(min(count, len(self._ids))))


def _topic(entry: object, chat: _Chat, shown_share: float) -> Topic | None:
    if isinstance(entry, str):
        entry = {"label": entry}
    if not isinstance(entry, dict) or not isinstance(entry.get("label"), str):
        return None
    label = clean_label(entry["label"])
    if not label:
        return None
    message_ids = chat.known(entry.get("message_ids"))
    count = max(_number(entry.get("count")) / shown_share, len(message_ids))
    return Topic(
        label=label,
        count=chat.at_most(count),
        message_ids=message_ids,
        id=entry["id"] if isinstance(entry.get("id"), str) else "",
    )


def _merged(one: Topic, other: Topic, chat: _Chat) -> Topic:
    message_ids = chat.in_order({*one.message_ids, *other.message_ids})
    count = len(message_ids) or one.count + other.count
    return Topic(
        label=one.label,
        count=chat.at_most(count),
        message_ids=message_ids,
        id=one.id or other.id,
    )


def _largest(topics: tuple[Topic, ...]) -> tuple[Topic, ...]:
    by_size = sorted(range(len(topics)), key=lambda place: -topics[place].count)
    return tuple(topics[place] for place in sorted(by_size[:MOST_TOPICS]))


def _number(value: object) -> float:
    """A model's count as a number; 0 for anything else."""
    try:
        number = float(value) if isinstance(value, int | float | str) else 0.0
    except (ValueError, OverflowError):
        return 0.0
    return number if 0 <= number < float("inf") else 0.0
