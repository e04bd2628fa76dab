"""Reads a model's reply about topics; invalid parts are fixed or refused."""

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
    case are merged. Counts are limited to the number of messages, and unknown message ids are
    dropped; the id of a topic may be made up. Of
    more than eight topics, the largest are kept.

    Args:
        reply: The model's reply.
        messages: All messages of the chat.
        shown_share: The share of the messages that the model saw; counts are scaled by it.

    Raises:
        ReplyUnusable: If there is no such JSON, or no topic in it.
    """
    document = _document(reply)
    order = {message.id: place for place, message in enumerate(messages)}
    sticky = _known_ids(document.get("sticky_message_ids"), order)
    merged: dict[str, Topic] = {}
    for entry in document["topics"]:
        topic = _topic(entry, order, shown_share)
        if topic is None:
            continue
        key = label_key(topic.label)
        if key == label_key(STICKY_LABEL):
            sticky = _chronological({*sticky, *topic.message_ids}, order)
        else:
            merged[key] = _merged(merged[key], topic, order) if key in merged else topic
    if not merged:
        raise ReplyUnusable("found an empty one")
    return Extraction(
        topics=_largest(tuple(merged.values())),
        sticky_ids=sticky,
        title=_title(document.get("title")),
    )


def _title(value: object) -> str:
    """A title of one short line; empty if there is none."""
    words = " ".join(value.split()).strip("\"“”'.… ") if isinstance(value, str) else ""
    return words if len(words) <= _LONGEST_TITLE else ""


def _document(reply: str) -> Mapping[str, Any]:
    for found in _json_values(reply[:_LONGEST_REPLY]):
        if isinstance(found, dict) and isinstance(found.get("topics"), list):
            return found
        if isinstance(found, list) and found and all(map(_is_entry, found)):
            return {"topics": found}
    start = " ".join(reply.split())[:60]
    raise ReplyUnusable(f"found “{start}”" if start else "found nothing")


def _json_values(text: str) -> Iterator[object]:
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


def _topic(entry: object, order: Mapping[MessageId, int], shown_share: float) -> Topic | None:
    if isinstance(entry, str):
        entry = {"label": entry}
    if not isinstance(entry, dict) or not isinstance(entry.get("label"), str):
        return None
    label = clean_label(entry["label"])
    if not label:
        return None
    message_ids = _known_ids(entry.get("message_ids"), order)
    count = max(_number(entry.get("count")) / shown_share, len(message_ids))
    return Topic(
        label=label,
        count=_clamped(count, order),
        message_ids=message_ids,
        id=entry["id"] if isinstance(entry.get("id"), str) else "",
    )


def _merged(one: Topic, other: Topic, order: Mapping[MessageId, int]) -> Topic:
    message_ids = _chronological({*one.message_ids, *other.message_ids}, order)
    count = len(message_ids) or one.count + other.count
    return Topic(
        label=one.label,
        count=_clamped(count, order),
        message_ids=message_ids,
        id=one.id or other.id,
    )


def _largest(topics: tuple[Topic, ...]) -> tuple[Topic, ...]:
    by_size = sorted(range(len(topics)), key=lambda place: -topics[place].count)
    return tuple(topics[place] for place in sorted(by_size[:MOST_TOPICS]))


def _known_ids(value: object, order: Mapping[MessageId, int]) -> tuple[MessageId, ...]:
    if not isinstance(value, list):
        return ()
    return _chronological({MessageId(i) for i in value if isinstance(i, str) and i in order}, order)


def _chronological(ids: set[MessageId], order: Mapping[MessageId, int]) -> tuple[MessageId, ...]:
    return tuple(sorted(ids, key=order.__getitem__))


def _clamped(count: float, order: Mapping[MessageId, int]) -> int:
    return max(1, round(min(count, len(order))))


def _number(value: object) -> float:
    """A model's count as a number; 0 for anything else."""
    try:
        number = float(value) if isinstance(value, int | float | str) else 0.0
    except (ValueError, OverflowError):
        return 0.0
    return number if 0 <= number < float("inf") else 0.0
