"""The parts of the atlas: chat topics, topics that merge similar chat topics, and themes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from smart_context.base.values import JsonObject
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
    """A topic of one chat."""

    key: Key  # its chat and its id
    label: str  # its label in the chat
    vector: Matrix  # shape (d,): the mean direction of its messages; zero if it is not known
    words: Hashes  # the hashes of its content words, the most frequent first
    counts: NDArray[np.uint8]  # the count of each of them, at most 255
    places: Places  # its messages, by their places in the chat
    colour: str = ""  # its colour in the chat, as `data-hue` of the pages takes it
    language: str = ""  # the main language of its messages, such as `en`; empty if it is not known


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChatEntry:
    """The part of the atlas for one chat."""

    revision: str  # the state of the chat that it was made from
    is_known: bool  # its topics are known; false while they have to be found
    times: Seconds  # for each message, seconds since 1970; `NO_TIME` if it has none
    topics: tuple[ChatTopic, ...] = ()  # its topics with messages


@dataclass(frozen=True, slots=True, kw_only=True)
class AtlasTopic:
    """Similar chat topics of one or more chats."""

    id: str  # stays as long as most of its chat topics are the same
    label: str  # distinct from those of other topics
    theme: str  # the id of its theme
    members: tuple[Key, ...]  # its chat topics


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """Topics that are near to each other."""

    id: str  # stays as long as most of its topics are the same
    label: str  # distinct from those of other themes


@dataclass(frozen=True, slots=True, kw_only=True)
class Atlas:
    """The topics and themes of a person's chats."""

    topics: tuple[AtlasTopic, ...] = ()
    themes: tuple[Theme, ...] = ()  # the themes, each with at least one topic
    merged: int = 0  # the number of chat topics when all were last compared with all


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredAtlas:
    """The atlas, with the chats that it was made from."""

    atlas: Atlas = field(default_factory=Atlas)  # the topics and themes
    chats: Mapping[ChatId, ChatEntry] = field(default_factory=dict)  # the entry of each chat

    @cached_property
    def chat_topics(self) -> Mapping[Key, ChatTopic]:
        """The chat topics by their keys."""
        return {topic.key: topic for topic in chat_topics_of(self.chats)}


def chat_topics_of(chats: Mapping[ChatId, ChatEntry]) -> Sequence[ChatTopic]:
    """The topics of chats."""
    return [topic for entry in chats.values() for topic in entry.topics]


_VERSION = 1
_ATLAS = TypeAdapter(Atlas)


def to_document(atlas: Atlas) -> JsonObject:
    """The document to keep."""
    return {"version": _VERSION, **_ATLAS.dump_python(atlas, mode="json")}


def from_document(document: Mapping[str, Any] | None) -> Atlas:
    """The atlas of a document; an empty one for a missing or damaged document."""
    if document is None or document.get("version") != _VERSION:
        return Atlas()
    try:
        atlas = _ATLAS.validate_python({"topics": document["topics"], **document})
    except (KeyError, ValidationError):
        return Atlas()
    known = {theme.id for theme in atlas.themes}
    return atlas if all(topic.theme in known for topic in atlas.topics) else Atlas()
