"""A topic of a chat, and the result of an extraction."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from smart_context.chat.messages import MessageId

STICKY_LABEL = "Instructions & Preferences"
"""The label of the entry with the standing instructions; no topic may have it."""

MOST_TOPICS = 8
"""The most topics that an extraction finds."""

MOST_GROUPED = 10_000
"""The most messages that are grouped, the newest; older ones keep the topics that they have."""

MOST_READ = 100_000
"""The most characters of a message that are read for topics; more would change little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """Something that a chat is about."""

    label: str  # two to four words in Title Case
    count: int  # the number of messages about it; 0 if unknown
    message_ids: tuple[MessageId, ...] = ()  # these messages, chronological; empty if unknown
    keywords: tuple[str, ...] = ()  # words that set its messages apart, the most telling first
    # identifies the topic in its chat, even when it is renamed; empty if not yet given
    id: str = ""
    # the id of the wider topic that it is part of, or its label if that has no id yet; empty for a
    # top-level topic
    parent_id: str = ""
    named: int = 0  # the number of messages that it had when a model named it; 0 for never


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """The topics of a chat, the messages with standing instructions, and a title for it."""

    topics: tuple[Topic, ...] = ()
    sticky_ids: tuple[MessageId, ...] = ()
    title: str = field(default="", compare=False)


Labels = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedTopics:
    """Fixed assignments of messages to topics, by the topics' current labels."""

    # messages that were written while topics were picked: each stays in one of these
    said: Mapping[MessageId, Labels] = field(default_factory=lambda: MappingProxyType({}))
    # messages that a person has put into one topic, or into none
    about: Mapping[MessageId, Labels] = field(default_factory=lambda: MappingProxyType({}))
    # messages that a person has taken out of topics
    apart: Mapping[MessageId, frozenset[str]] = field(default_factory=lambda: MappingProxyType({}))
    # messages of topics that are picked now
    picked: Mapping[MessageId, Labels] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def within(self) -> dict[MessageId, Labels]:
        """For each held message the topics that it may be in; none if it belongs to no topic."""
        return {**self.picked, **self.said, **self.about}

    @property
    def labels(self) -> frozenset[str]:
        """The labels of all topics that hold messages."""
        return frozenset(label for labels in self.within.values() for label in labels)

    def with_picked(self, topics: Iterable[Topic], labels: AbstractSet[str]) -> "FixedTopics":
        """The same while topics are picked: their messages stay in them, too."""
        picked = {
            message_id: (topic.label,)
            for topic in topics
            if topic.label in labels
            for message_id in topic.message_ids
            if topic.label not in self.apart.get(message_id, ())
        }
        return replace(self, picked=picked)


@dataclass(frozen=True, slots=True, kw_only=True)
class Previous:
    """The result of the last extraction of a chat, to start from."""

    # the topics, with the ids of their messages where these are known
    topics: tuple[Topic, ...] = ()
    seen: str = ""  # the last message that it read; empty if unknown
    # messages that stay in their topic, since the user put them back
    settled: frozenset[MessageId] = frozenset()
    # the labels of topics that keep their name: picked, or chosen by the user
    fixed_labels: frozenset[str] = frozenset()
    # the labels of topics that the user has deleted; their messages stay away
    deleted_labels: frozenset[str] = frozenset()
    # the messages that belong where a person put them
    held: FixedTopics = field(default_factory=FixedTopics)
    # the ids of topics that lose no message, though their name may change: pinned from, or sent
    kept_ids: frozenset[str] = frozenset()
    is_titled: bool = False  # the chat has a title, so none has to be found

    def is_touched(self, topic: Topic) -> bool:
        """True if the user relies on a topic: its messages stay through every extraction."""
        return topic.id in self.kept_ids or topic.label in self.fixed_labels | self.deleted_labels
