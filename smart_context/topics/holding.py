"""Keeps messages in the topics where a person has put them, against the results of extractions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from smart_context.chat.messages import MessageId
from smart_context.llm.models import Matrix
from smart_context.topics.clusters.units import at_unit_length
from smart_context.topics.values import FixedTopics, Labels, Topic

Nearest = Callable[[MessageId, Labels], str]
"""Gives the label of the topic that a message is nearest to, among these."""


def centres_of(
    rows: Matrix, groups: Mapping[str, Sequence[int] | NDArray[np.intp]]
) -> dict[str, Matrix]:
    """The sum of the rows of each group that has some, by its label."""
    return {
        label: rows[list(places)].sum(axis=0) for label, places in groups.items() if len(places)
    }


def nearest_label(row: Matrix, labels: Sequence[str], centres: Mapping[str, Matrix]) -> str:
    """The label of the nearest centre; the first one if none of them has a centre."""
    known = [label for label in labels if label in centres]
    if len(known) <= 1:
        return (*known, *labels)[0]
    found = at_unit_length(np.stack([centres[label] for label in known])) @ row
    return known[int(found.argmax())]


def with_held(
    topics: Sequence[Topic],
    held: FixedTopics,
    order: Sequence[MessageId],
    nearest: Nearest | None = None,
) -> tuple[Topic, ...]:
    """The topics with each held message where it belongs; missing topics are added.

    Topics that lose all of their messages are left out.

    Args:
        order: The messages of the chat, oldest first; held messages of other chats are ignored.
        nearest: Chooses among several topics; the first one if left out.
    """
    place_of = {message_id: place for place, message_id in enumerate(order)}
    within = {i: labels for i, labels in held.within.items() if i in place_of}
    apart = {i: labels for i, labels in held.apart.items() if i in place_of}
    if not (within or apart):
        return tuple(topics)
    moved = _Placing(topics)
    for message_id, labels in within.items():
        if not labels:
            moved.take_out(message_id)
        elif not moved.is_in(message_id, labels, alone=message_id in held.about):
            is_choice = nearest is not None and len(labels) > 1
            target = nearest(message_id, labels) if nearest and is_choice else labels[0]
            moved.put(message_id, target)
    for message_id, names in apart.items():
        moved.take_out(message_id, names)
    return moved.topics(place_of)


class _Placing:
    """Topics while messages move between them; each has the messages of its parts, too."""

    def __init__(self, topics: Sequence[Topic]) -> None:
        self._topics = list(topics)
        self._ids = [dict.fromkeys(topic.message_ids) for topic in topics]
        self._owners: dict[MessageId, list[int]] = {}
        for number, topic in enumerate(topics):
            for message_id in topic.message_ids:
                self._owners.setdefault(message_id, []).append(number)
        names = {topic.id or topic.label: number for number, topic in enumerate(topics)}
        self._whole = [names.get(topic.parent_id, -1) for topic in topics]
        self._changed: set[int] = set()

    def is_in(self, message_id: MessageId, labels: Labels, *, alone: bool) -> bool:
        """True if a message is in one of these topics or their parts; `alone` in no other one."""
        owners = self._owners.get(message_id, ())
        inside = {number for number in owners if self._is_of(number, labels)}
        allowed = inside | {self._whole[number] for number in inside}
        return bool(inside) and (not alone or allowed.issuperset(owners))

    def put(self, message_id: MessageId, label: str) -> None:
        """Move a message into a topic."""
        self.take_out(message_id)
        number = next((n for n, t in enumerate(self._topics) if t.label == label), -1)
        if number < 0:
            number = len(self._topics)
            self._topics.append(Topic(label=label, count=0))
            self._ids.append({})
            self._whole.append(-1)
        for place in {number, self._whole[number]} - {-1}:
            self._ids[place][message_id] = None
            self._owners.setdefault(message_id, []).append(place)
            self._changed.add(place)

    def take_out(self, message_id: MessageId, labels: AbstractSet[str] | None = None) -> None:
        """Take a message out of topics and their parts: of all if none are named."""
        owners = self._owners.get(message_id, [])
        left = [n for n in owners if labels is None or self._is_of(n, labels)]
        for number in left:
            del self._ids[number][message_id]
            owners.remove(number)
        self._changed.update(left)

    def topics(self, place_of: Mapping[MessageId, int]) -> tuple[Topic, ...]:
        """The topics with their messages in the order of the chat."""
        found: list[Topic] = []
        for number, topic in enumerate(self._topics):
            if number not in self._changed:
                found.append(topic)
            elif ids := sorted(self._ids[number], key=lambda i: place_of.get(i, -1)):
                found.append(replace(topic, message_ids=tuple(ids), count=len(ids)))
        left = {topic.id or topic.label for topic in found}
        return tuple(
            replace(topic, parent_id="") if topic.parent_id not in {"", *left} else topic
            for topic in found
        )

    def _is_of(self, number: int, labels: Iterable[str]) -> bool:
        whole = self._whole[number]
        own = {self._topics[number].label} | ({self._topics[whole].label} if whole >= 0 else set())
        return not own.isdisjoint(labels)
