"""Topics of messages that are in other versions of a chat, and may come back."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from smart_context.chat.messages import Message, MessageId
from smart_context.topics.values import Topic


def left_behind(topics: Iterable[Topic], elsewhere: AbstractSet[str]) -> tuple[Topic, ...]:
    """The topics with only their messages of other versions; those without any are left out.

    Args:
        topics: The topics, and what was left behind before; those of one id are joined.
        elsewhere: The messages that are in other versions and not in the one that is shown.
    """
    found: dict[str, Topic] = {}
    for topic in topics:
        ids = [message_id for message_id in topic.message_ids if message_id in elsewhere]
        if ids:
            known = found.get(topic.id)
            joined = dict.fromkeys((*(known.message_ids if known else ()), *ids))
            found[topic.id] = replace(known or topic, message_ids=tuple(joined), count=len(joined))
    return tuple(found.values())


def come_back(
    topics: Sequence[Topic], away: Sequence[Topic], messages: Sequence[Message]
) -> tuple[Topic, ...]:
    """The topics of the version that is shown: each with those of its messages that are in it.

    Args:
        away: What `left_behind` gave; a topic that is gone meanwhile comes back with its label.
        messages: The messages of the version that is shown, oldest first.
    """
    order = {message.id: place for place, message in enumerate(messages)}
    merged: dict[str, Topic] = {topic.id: topic for topic in topics}
    for topic in away:
        known = merged.get(topic.id, replace(topic, message_ids=()))
        joined: tuple[MessageId, ...] = (*known.message_ids, *topic.message_ids)
        merged[topic.id] = replace(known, message_ids=joined)
    found = []
    for topic in merged.values():
        present = {message_id for message_id in topic.message_ids if message_id in order}
        ids = tuple(sorted(present, key=order.__getitem__))
        if ids or not topic.message_ids:  # of some topics only the number is known
            found.append(replace(topic, message_ids=ids, count=len(ids) or topic.count))
    return tuple(found)
