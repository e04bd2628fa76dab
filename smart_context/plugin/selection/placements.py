"""A person's facts about single messages, as far as they concern the picked topics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from smart_context.chat.messages import Message, MessageId
from smart_context.plugin.choices.state import FilterState
from smart_context.topics.values import FixedTopics, Topic


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Placements:
    """The messages that a person has placed in or out of the picked topics, before any score."""

    # messages that were said while a picked topic was picked, with its label
    said: Mapping[MessageId, str] = field(default_factory=dict)
    # messages that are about a picked topic, with its label
    assigned: Mapping[MessageId, str] = field(default_factory=dict)
    apart: frozenset[MessageId] = frozenset()  # messages that are about none of the picked ones
    # shape (k, n), True where a candidate is not about a picked topic
    elsewhere: NDArray[np.bool_] = field(default_factory=lambda: np.zeros((0, 0), np.bool_))


NO_PLACEMENTS = Placements()


def placements_of(
    state: FilterState, topics: Sequence[Topic], candidates: Sequence[Message]
) -> Placements:
    """The person's placements of the candidates of a chat; at least one topic is picked."""
    active, held = state.active_topics, state.edits.held(topics)
    inside = [_labels_inside(label, topics) for label in active]
    elsewhere = np.zeros((len(active), len(candidates)), dtype=np.bool_)
    if held.about or held.apart:
        for place, message in enumerate(candidates):
            elsewhere[:, place] = [
                _is_elsewhere(message.id, held, label, labels)
                for label, labels in zip(active, inside, strict=True)
            ]
    ids = np.array([message.id for message in candidates], dtype=object)
    return Placements(
        said=_said(held, active, topics),
        assigned={
            message_id: label
            for message_id, named in held.about.items()
            for label, labels in zip(reversed(active), reversed(inside), strict=True)
            if not labels.isdisjoint(named)
        },
        apart=frozenset(ids[elsewhere.all(axis=0)].tolist()),
        elsewhere=elsewhere,
    )


def _labels_inside(label: str, topics: Sequence[Topic]) -> frozenset[str]:
    """The label of a topic and the labels of its parts."""
    ids = {topic.id for topic in topics if topic.label == label and topic.id}
    return frozenset([label, *(topic.label for topic in topics if topic.parent_id in ids)])


def _is_elsewhere(
    message_id: MessageId, held: FixedTopics, label: str, labels: frozenset[str]
) -> bool:
    about, apart = held.about.get(message_id), held.apart.get(message_id, frozenset())
    is_of_another = about is not None and labels.isdisjoint(about)
    return is_of_another or label in apart or labels <= apart


def _said(
    held: FixedTopics, active: Sequence[str], topics: Sequence[Topic]
) -> dict[MessageId, str]:
    """The messages that were said under a picked topic, each with the one that it belongs to."""
    members = {t.label: frozenset(t.message_ids) for t in topics if t.label in active}
    found: dict[MessageId, str] = {}
    for message_id, labels in held.said.items():
        picked = [label for label in active if label in labels]
        own = (label for label in picked if message_id in members.get(label, ()))
        if picked:
            found[message_id] = next(own, picked[0])
    return found
