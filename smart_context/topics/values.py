"""A topic of a chat, and all that one extraction found."""

from dataclasses import dataclass

from smart_context.chat.messages import MessageId

STICKY_LABEL = "Instructions & Preferences"
"""The name of the entry that holds the standing instructions; no topic can have it."""

MOST_TOPICS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """Something that a chat is about.

    Attributes:
        label: Two to four words in Title Case.
        count: How many messages are about it; at least 1.
        message_ids: Which, chronological; empty when that is not known.
        keywords: Words that set its messages apart, the most telling first.
        id: Names the topic for as long as the chat has it, whatever it is called; empty before it
            has one.
        parent_id: The id of the wider topic that it is a part of, or its label before it has an
            id; empty for a topic of its own.
    """

    label: str
    count: int
    message_ids: tuple[MessageId, ...] = ()
    keywords: tuple[str, ...] = ()
    id: str = ""
    parent_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """The topics of a chat, and the messages that hold standing instructions."""

    topics: tuple[Topic, ...] = ()
    sticky_ids: tuple[MessageId, ...] = ()
