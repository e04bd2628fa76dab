"""Reads a chat for the atlas: its topics with their messages, words, times and vectors.

After a turn, only the topics that it changed are read again.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

import numpy as np

from smart_context.base.text.languages import main_language
from smart_context.base.text.words import content_words
from smart_context.base.times import moment_of
from smart_context.base.values import JsonObject
from smart_context.chat.messages import ChatId, Message
from smart_context.importing.taking_in import IMPORTED
from smart_context.llm.models import Matrix
from smart_context.plugin.choices.sidecars import ChatSidecar
from smart_context.relevance.vectors.warm import common_length, message_key
from smart_context.topics.atlas.account import hashes_of
from smart_context.topics.atlas.values import NO_TIME, ChatEntry, ChatTopic, Key
from smart_context.topics.clusters.units import at_unit_length
from smart_context.topics.extraction import is_readable
from smart_context.topics.identity import colours_of
from smart_context.topics.stored import stored_topics
from smart_context.topics.values import Topic

READ_KEYS = ("topics", IMPORTED)
"""The keys of a chat's document that the atlas reads."""

_READ_MESSAGES, _READ_CHARACTERS = 40, 2_000
"""The most messages read for a topic's words, and the most characters of each."""

_MOST_MEANT = 1_000  # about the most messages whose mean is a topic's direction

_MOST_WORDS = 200
_EMBEDDED_MESSAGES, _EMBEDDED_CHARACTERS = 4, 800
"""The most messages embedded of a topic without kept vectors, and the most characters of each."""

_SPEAKERS = frozenset({"user", "assistant"})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReadChat:
    """A chat as it was read; some of its topics may still need a vector."""

    entry: ChatEntry
    messages: tuple[Message, ...] = ()
    # the keys of the messages whose vectors are wanted, by the topic's place in the entry
    keys: Mapping[int, Sequence[str]] = field(default_factory=dict)

    @property
    def missing(self) -> dict[int, list[str]]:
        """Texts that describe each topic without a vector, by the topic's place."""
        return {
            place: [
                message.text[:_EMBEDDED_CHARACTERS]
                for message in _some([self.messages[n] for n in topic.places], _EMBEDDED_MESSAGES)
            ]
            for place, topic in enumerate(self.entry.topics)
            if not topic.vector.any()
        }


NOTHING_READ = ReadChat(
    entry=ChatEntry(revision="", is_known=True, times=np.zeros(0, dtype=np.int64))
)
"""The value for a chat that was not read before."""


def read_chat(
    chat_id: ChatId,
    revision: str,
    chat: tuple[tuple[Message, ...], JsonObject],
    sidecar: ChatSidecar,
    before: ReadChat,
) -> ReadChat:
    """A chat as the atlas needs it, except for the vectors of new and grown topics.

    Args:
        revision: The chat's revision when it was read, or an earlier one.
        chat: The messages of the chat, and the `READ_KEYS` of its document.
    """
    messages, others = chat
    same = common_length(messages, before.messages)
    known = {t.key: (t, n) for n, t in enumerate(before.entry.topics) if t.places[-1] < same}
    topics: list[ChatTopic] = []
    keys: dict[int, Sequence[str]] = {}
    place_of: dict[str, int] = {message.id: place for place, message in enumerate(messages)}
    stored = stored_topics(others.get("topics"), sidecar.topics)
    colours = colours_of((topic.id, topic.parent_id) for topic in stored)
    for topic, places in _members(messages, stored, sidecar, place_of):
        colour = str(colours[topic.id])
        earlier, number = known.get((chat_id, topic.id), (None, -1))
        if earlier is not None and np.array_equal(earlier.places, places):
            if number in before.keys:  # messages without a vector may have one now
                keys[len(topics)] = before.keys[number]
            topics.append(replace(earlier, label=topic.label, colour=colour))
            continue
        said = [messages[place] for place in places]
        keys[len(topics)] = [
            key for key in map(message_key, said[:: 1 + len(said) // _MOST_MEANT]) if key
        ]
        new = _topic((chat_id, topic.id), topic.label, said, places)
        topics.append(replace(new, colour=colour))
    times = [_seconds(message) for message in messages[same:]]
    entry = ChatEntry(
        revision=revision,
        is_known=_is_known(
            messages, others, sidecar, has_topics=bool(topics) or _were_placed(others, sidecar)
        ),
        times=np.concatenate((before.entry.times[:same], np.array(times, dtype=np.int64))),
        topics=tuple(topics),
    )
    return ReadChat(entry=entry, messages=messages, keys=keys)


def _topic(key: Key, label: str, said: Sequence[Message], places: Sequence[int]) -> ChatTopic:
    """A topic without its vector."""
    texts = [message.text[:_READ_CHARACTERS] for message in _some(said, _READ_MESSAGES)]
    said_words = Counter(word for text in texts for word in content_words(text))
    frequent = said_words.most_common(_MOST_WORDS)
    return ChatTopic(
        key=key,
        label=label,
        vector=np.zeros(1, dtype=np.float32),
        words=hashes_of(word for word, _ in frequent),
        counts=np.array([min(count, 255) for _, count in frequent], dtype=np.uint8),
        places=np.array(places, dtype=np.int32),
        language=main_language(texts),
    )


def with_kept(read: ReadChat, rows: Matrix) -> ReadChat:
    """The chat with each topic's vector: the mean direction of its messages with kept vectors.

    Args:
        rows: The vectors of the messages in `read.keys`, in order; zero where none is kept.
    """
    vectors: dict[int, Matrix] = {}
    lacking: dict[int, Sequence[str]] = {}
    start = 0
    for place, keys in read.keys.items():
        found = rows[start : (start := start + len(keys))]
        if found.any():
            vectors[place] = found
        if not found.any(axis=1).all():
            lacking[place] = keys
    return replace(with_vectors(read, vectors), keys=lacking)


def with_vectors(read: ReadChat, vectors: Mapping[int, Matrix]) -> ReadChat:
    """The chat with the mean direction of these rows as the topics' vectors, by topics' places."""
    topics = [
        replace(topic, vector=at_unit_length(vectors[place].mean(axis=0)))
        if place in vectors
        else topic
        for place, topic in enumerate(read.entry.topics)
    ]
    return replace(read, entry=replace(read.entry, topics=tuple(topics)))


def _members(
    messages: Sequence[Message],
    topics: Sequence[Topic],
    sidecar: ChatSidecar,
    place_of: Mapping[str, int],
) -> Iterable[tuple[Topic, list[int]]]:
    """The topics with the places of their messages; a message in a part counts only there."""
    in_parts: dict[str, set[str]] = {}
    for topic in topics:
        in_parts.setdefault(topic.parent_id, set()).update(topic.message_ids)
    hidden = frozenset(sidecar.state.hidden)
    for topic in topics:
        left_out: AbstractSet[str] = in_parts.get(topic.id, set()) | hidden
        places = sorted(
            place
            for message_id in dict.fromkeys(topic.message_ids)
            if message_id not in left_out
            and (place := place_of.get(message_id)) is not None
            and _counts(messages[place])
        )
        if places:
            yield topic, places


def _counts(message: Message) -> bool:
    return is_readable(message) and not message.is_summary


def _were_placed(others: JsonObject, sidecar: ChatSidecar) -> bool:
    """True if messages were searched for all topics of the chat's file."""
    labels = {topic.label for topic in stored_topics(others.get("topics"))}
    return bool(labels) and labels <= {topic.label for topic in sidecar.topics}


def _is_known(
    messages: Sequence[Message], others: JsonObject, sidecar: ChatSidecar, *, has_topics: bool
) -> bool:
    """False while topics must be found: there are none yet, or an import has added messages."""
    if (has_topics or sidecar.seen) and IMPORTED not in others:
        return True
    ids = [message.id for message in messages if _speaks(message)]
    return sidecar.seen not in ids[:-1] if has_topics or sidecar.seen else not ids


def _speaks(message: Message) -> bool:
    return _counts(message) and message.role in _SPEAKERS and bool(message.text.strip())


def _some(said: Sequence[Message], most: int) -> Sequence[Message]:
    """At most `most` of the messages, spread over the whole topic; questions are preferred."""
    asked = [message for message in said if message.role == "user"] or said
    if len(asked) <= most:
        return asked if len(said) > most else said
    return [asked[len(asked) * n // most] for n in range(most)]


def _seconds(message: Message) -> int:
    moment = moment_of(message.created_at)
    return NO_TIME if moment is None else math.floor(moment.timestamp())
