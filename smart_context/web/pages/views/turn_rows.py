"""The messages of a receipt, grouped by what they are about."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from smart_context.base.results import TopicResult
from smart_context.base.values import JsonObject
from smart_context.topics.identity import Colour, colours_of, hue_of, new_topic_id
from smart_context.topics.values import STICKY_LABEL

MAX_ROWS = 1_000
"""Most messages of a kind on the page; the counts say how many there are."""

OTHERS = "Other messages"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRows:
    """Messages about one topic."""

    name: str  # the topic's label, that of standing instructions, or `OTHERS`
    hue: Colour | None  # the topic's colour; `None` if it is no topic
    count: int  # how many messages there are
    tokens: int  # what all of them cost
    rows: tuple[JsonObject, ...]  # the messages to show, chronological


class TopicsOfMessages:
    """Finds the topic of a message.

    Args:
        topic_map: The result of `topic_map`; nothing if it is unavailable.
        topics: The chat's topics, with their parents.
    """

    def __init__(self, topic_map: Mapping[str, Any], topics: Sequence[TopicResult]) -> None:
        known = [topic for topic in topics if topic.get("id") and not topic.get("sticky")]
        colours = colours_of((topic["id"], topic.get("parent_id", "")) for topic in known)
        self._hues = {topic["label"]: colours[topic["id"]] for topic in known}
        nested = {str(t["id"]) for t in topics if t.get("parent_id")}
        sticky = {str(t["id"]) for t in topics if t.get("sticky") and t.get("id")}
        ids = topic_map.get("message_ids", ())
        self._labels: dict[str, str] = {}
        for topic in topic_map.get("topics", ()):
            if topic["id"] not in nested | sticky:
                for place in topic["places"]:
                    self._labels.setdefault(ids[place], str(topic["label"]))

    def label_of(self, row: Mapping[str, Any]) -> str:
        """The topic that kept a message, or the one that it belongs to; empty if there is none."""
        if row.get("kind") == "sticky":
            return STICKY_LABEL
        if row.get("kind") == "topic" and row.get("topic"):
            return str(row["topic"])
        return self._labels.get(str(row.get("id")), "")

    def hue(self, label: str) -> Colour | None:
        """A topic's colour."""
        if not label or label == STICKY_LABEL:
            return None
        return self._hues.get(label, hue_of(new_topic_id(label, ())))


def grouped(rows: Sequence[JsonObject], topics: TopicsOfMessages) -> tuple[TopicRows, ...]:
    """The messages by topic: the costliest topic first, messages without a topic last."""
    by_label: dict[str, list[JsonObject]] = defaultdict(list)
    for row in rows:
        by_label[topics.label_of(row)].append(row)
    costs = {label: sum(row["tokens"] for row in found) for label, found in by_label.items()}
    room = MAX_ROWS
    groups: list[TopicRows] = []
    for label in sorted(by_label, key=lambda one: (not one, -costs[one])):
        found = by_label[label]
        group = TopicRows(
            name=label or OTHERS,
            hue=topics.hue(label),
            count=len(found),
            tokens=costs[label],
            rows=tuple(found[:room]),
        )
        room -= len(group.rows)
        groups.append(group)
    return tuple(groups)
