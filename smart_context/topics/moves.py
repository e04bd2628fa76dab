"""Moves of messages between topics, with reasons; topics of other versions, and their return."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from smart_context.base.results import MoveResult
from smart_context.chat.messages import Message, MessageId
from smart_context.topics.values import Topic

_REFRESHED = "You had the topics found again."
_SAME = "Both turned out to be one topic."
_OWN = "They have become a topic of their own."
_FITS = "Later messages show that they fit there."
_NO_TOPIC = "They fit no topic any more."


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Messages that have left a topic."""

    message_ids: tuple[MessageId, ...]  # their ids, chronological
    origin: Topic  # the topic that they left, as it was
    target: Topic | None  # the topic that they are in now; `None` if in none
    why: str  # the reason, for users

    @property
    def labels(self) -> frozenset[str]:
        """The labels of both topics."""
        return frozenset(topic.label for topic in (self.origin, self.target) if topic)

    @property
    def told(self) -> MoveResult:
        """The move in the form that clients get."""
        return {
            "message_ids": list(self.message_ids),
            "from": self.origin.label,
            "to": self.target.label if self.target else "",
            "why": self.why,
        }


def moves_between(
    before: Sequence[Topic],
    after: Sequence[Topic],
    present: Iterable[MessageId],
    *,
    regrouped: bool = False,
) -> list[Move]:
    """The moves of messages that are still in the chat; topics are known by their ids.

    Args:
        regrouped: The user had all topics found again.
    """
    here = set(present)
    now = {topic.id: topic for topic in after}
    known = {topic.id for topic in before}
    moves: list[Move] = []
    for topic in before:
        stays = set(now[topic.id].message_ids) if topic.id in now else set()
        left = [i for i in topic.message_ids if i in here and i not in stays]
        targets = _targets(left, topic, after)
        for target_id in dict.fromkeys(targets.values()):
            ids = tuple(i for i in left if targets[i] == target_id)
            target = now.get(target_id)
            why = _REFRESHED if regrouped else _reason(topic, target, now.keys(), known)
            moves.append(Move(message_ids=ids, origin=topic, target=target, why=why))
    return moves


def put_back(topics: Sequence[Topic], moves: Sequence[Move]) -> tuple[Topic, ...]:
    """The topics with the moved messages where they were."""
    found = {topic.id: topic for topic in topics}
    order = {topic.id: None for topic in topics}
    for move in moves:
        origin = found.get(move.origin.id, replace(move.origin, message_ids=(), count=0))
        order[origin.id] = None
        found[origin.id] = _with(origin, {*origin.message_ids, *move.message_ids})
        if move.target is not None and (target := found.get(move.target.id)):
            is_part = target.parent_id == origin.id or origin.parent_id == target.id
            rest = {*target.message_ids} - (set() if is_part else {*move.message_ids})
            found[target.id] = _with(target, rest)
    return tuple(found[i] for i in order if found[i].message_ids or not found[i].id)


def back_in(
    now: Sequence[Topic], before: Sequence[Topic], ids: AbstractSet[MessageId]
) -> tuple[Topic, ...]:
    """The topics with some messages where they were before; topics are known by their ids."""
    was = {topic.id: ids & {*topic.message_ids} for topic in before}
    here = {topic.id for topic in now}
    gone = (replace(t, message_ids=()) for t in before if was[t.id] and t.id not in here)
    found: list[Topic] = []
    for topic in (*now, *gone):
        back = was.get(topic.id, set())
        is_same = not back and ids.isdisjoint(topic.message_ids)
        found.append(topic if is_same else _with(topic, {*topic.message_ids} - ids | back))
    empty = {topic.id for topic in before if not topic.count}  # a person added them
    return tuple(t for t in found if t.message_ids or t.count or t.id in empty)


def _targets(
    left: Sequence[MessageId], origin: Topic, after: Sequence[Topic]
) -> dict[MessageId, str]:
    """The id of the narrowest topic of each message now; empty if it has none."""
    holders = sorted(after, key=lambda topic: (len(topic.message_ids), topic.id == origin.id))
    owner: dict[MessageId, str] = {}
    for topic in holders:
        for message_id in topic.message_ids:
            owner.setdefault(message_id, topic.id)
    return {message_id: owner.get(message_id, "") for message_id in left}


def _reason(origin: Topic, target: Topic | None, now: Iterable[str], known: Iterable[str]) -> str:
    if target is None:
        return _NO_TOPIC
    if target.id not in set(known):
        return _OWN
    return _FITS if origin.id in set(now) else _SAME


def _with(topic: Topic, ids: set[MessageId]) -> Topic:
    return replace(topic, message_ids=tuple(ids), count=len(ids))


def in_order(topics: Sequence[Topic], order: Sequence[MessageId]) -> tuple[Topic, ...]:
    """The topics with their messages in the order of the chat, without those that are gone."""
    place = {message_id: number for number, message_id in enumerate(order)}
    found: list[Topic] = []
    for topic in topics:
        ids = sorted((i for i in topic.message_ids if i in place), key=place.__getitem__)
        count = len(ids) if topic.message_ids else topic.count
        found.append(replace(topic, message_ids=tuple(ids), count=count))
    return tuple(found)


def left_behind(topics: Iterable[Topic], elsewhere: AbstractSet[str]) -> tuple[Topic, ...]:
    """The topics with only their messages of other versions; those without any are left out.

    Args:
        topics: The topics, and those left behind before; topics with the same id are joined.
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
    """The topics of the version that is shown, each with its messages in that version.

    Args:
        away: The result of `left_behind`; a topic that no longer exists comes back with its label.
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
