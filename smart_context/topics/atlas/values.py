"""What the atlas is made of: chat topics, topics that stand for alike ones, and themes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from smart_context.chat.messages import ChatId
from smart_context.llm.models import Matrix

NO_TIME = int(np.iinfo(np.int64).min)
"""The time of a message that has none."""

Key = tuple[ChatId, str]
"""Names a chat topic: its chat, and its id there."""

Places = NDArray[np.int32]
Seconds = NDArray[np.int64]
Hashes = NDArray[np.uint32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChatTopic:
    """A topic of one chat.

    Attributes:
        key: Its chat and its id.
        label: Its label in the chat.
        vector: Shape (d,): the mean direction of its messages; zero if it is not known.
        words: The hashes of its content words, the most frequent first.
        counts: How often it has each of them, at most 255.
        places: Its messages, by their places in the chat.
        language: The main language of its messages, such as `en`; empty if it is not known.
    """

    key: Key
    label: str
    vector: Matrix
    words: Hashes
    counts: NDArray[np.uint8]
    places: Places
    language: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChatEntry:
    """What the atlas knows of a chat.

    Attributes:
        revision: The state of the chat that it was made from.
        is_known: Its topics are known; false while they have to be found.
        times: For each message, seconds since 1970; `NO_TIME` if it has none.
        topics: Its topics with messages.
    """

    revision: str
    is_known: bool
    times: Seconds
    topics: tuple[ChatTopic, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """Alike chat topics of one or more chats.

    Attributes:
        id: Stays as long as most of its chat topics are the same.
        label: Distinct from those of other topics.
        theme: The id of its theme.
        members: Its chat topics.
    """

    id: str
    label: str
    theme: str
    members: tuple[Key, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """Topics that are near to each other.

    Attributes:
        id: Stays as long as most of its topics are the same.
        label: Distinct from those of other themes.
    """

    id: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Atlas:
    """The topics and themes of a person's chats.

    Attributes:
        topics: The topics.
        themes: The themes, each with at least one topic.
        merged: The number of chat topics when all were last compared with all.
    """

    topics: tuple[Topic, ...] = ()
    themes: tuple[Theme, ...] = ()
    merged: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class Archive:
    """The atlas, with the chats that it was made of.

    Attributes:
        atlas: The topics and themes.
        chats: What is known of each chat.
    """

    atlas: Atlas = field(default_factory=Atlas)
    chats: Mapping[ChatId, ChatEntry] = field(default_factory=dict)

    @cached_property
    def chat_topics(self) -> Mapping[Key, ChatTopic]:
        """The chat topics by their keys."""
        return {topic.key: topic for topic in chat_topics_of(self.chats)}

    @property
    def pending(self) -> int:
        """The number of chats whose topics are not known yet."""
        return sum(not entry.is_known for entry in self.chats.values())


def chat_topics_of(chats: Mapping[ChatId, ChatEntry]) -> Sequence[ChatTopic]:
    """The topics of chats."""
    return [topic for entry in chats.values() for topic in entry.topics]
