"""A topic of a chat, and the result of an extraction."""

from dataclasses import dataclass, field

from smart_context.chat.messages import MessageId

STICKY_LABEL = "Instructions & Preferences"
"""The label of the entry with the standing instructions; no topic may have it."""

MOST_TOPICS = 8

MOST_READ = 100_000
"""The characters of a message that are read for topics: a longer one hardly says more of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """Something that a chat is about.

    Attributes:
        label: Two to four words in Title Case.
        count: The number of messages about it; 0 if unknown.
        message_ids: These messages, chronological; empty if unknown.
        keywords: Words that set its messages apart, the most telling first.
        id: Identifies the topic in its chat, even when it is renamed; empty if not yet given.
        parent_id: The id of the wider topic that it is part of, or its label if that has no id
            yet; empty for a top-level topic.
    """

    label: str
    count: int
    message_ids: tuple[MessageId, ...] = ()
    keywords: tuple[str, ...] = ()
    id: str = ""
    parent_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """The topics of a chat, the messages with standing instructions, and a title for it."""

    topics: tuple[Topic, ...] = ()
    sticky_ids: tuple[MessageId, ...] = ()
    title: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Previous:
    """What the last extraction of a chat left, to start from.

    Attributes:
        topics: The topics, with the ids of their messages where these are known.
        seen: The last message that it read; empty if unknown.
        settled: Messages that stay in their topic, since the user put them back.
        fixed_labels: The labels of topics that keep their name: picked, or chosen by the user.
        deleted_labels: The labels of topics that the user has deleted; their messages stay away.
    """

    topics: tuple[Topic, ...] = ()
    seen: str = ""
    settled: frozenset[MessageId] = frozenset()
    fixed_labels: frozenset[str] = frozenset()
    deleted_labels: frozenset[str] = frozenset()
