"""Finds topics without a language model: embedding clusters, named by phrases of the chat."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from smart_context.base.errors import ModelFailed
from smart_context.base.text.languages import language_of
from smart_context.base.text.references import refers_back
from smart_context.base.text.words import spelled_words
from smart_context.chat.messages import Message, MessageId
from smart_context.llm.models import Embedder, Matrix
from smart_context.llm.multilingual.languages import KNOWN, MULTILINGUAL
from smart_context.topics.clusters.grouping import Subject, ordinary_direction, subjects_of
from smart_context.topics.clusters.word_vectors import word_vectors
from smart_context.topics.extraction import ExtractionFailed, with_keywords
from smart_context.topics.naming.acceptance import is_courtesy
from smart_context.topics.naming.naming import Talk, labels_of
from smart_context.topics.standing.personal import standing_facts
from smart_context.topics.standing.standing import standing_instructions
from smart_context.topics.values import MOST_READ, MOST_TOPICS, Extraction, Topic

_SMALLEST_SHARE, _SMALLEST = 0.03, 3
_READ_FOR_LANGUAGE, _MOST_READ = 300, 200
_SPEAKERS = frozenset({"user", "assistant"})

_Entry = tuple[str, tuple[int, ...], str]


class EmbeddedTopicExtractor:
    """Finds topics, members and standing instructions offline; satisfies `TopicExtractor`.

    Args:
        embedder: Gives the messages' vectors; preferably cached.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    async def extract(
        self, messages: Sequence[Message], *, previous_labels: Sequence[str] = ()
    ) -> Extraction:
        """See `TopicExtractor`.

        Raises:
            ExtractionFailed: If the embedder fails.
        """
        sticky = await asyncio.to_thread(standing_instructions, messages)
        spoken = _spoken(messages, frozenset(sticky))
        if not spoken:
            return Extraction(sticky_ids=sticky)
        texts = [message.text[:MOST_READ] for message in spoken]
        is_answer = [message.role == "assistant" for message in spoken]
        try:
            vectors = await self._embedder.embed([message.text for message in spoken])
            facts = await asyncio.to_thread(standing_facts, spoken, vectors)
            sticky = _chronological(messages, {*sticky, *(spoken[place].id for place in facts)})
            goes_on = _goes_on(spoken)
            subjects = await asyncio.to_thread(
                _subjects, texts, vectors, goes_on, self._embedder.name
            )
            talk = Talk(
                texts=texts, vectors=vectors, is_answer=is_answer, speakers=_speakers(spoken)
            )
            entries = await self._named(talk, subjects, previous_labels)
        except ModelFailed as failure:
            raise ExtractionFailed(f"{self._embedder.name} did not answer: {failure}") from failure
        topics = tuple(
            Topic(
                label=label,
                count=len(group),
                message_ids=tuple(spoken[place].id for place in group),
                parent_id=parent,
            )
            for label, group, parent in entries
        )
        found = Extraction(topics=topics, sticky_ids=sticky)
        return await asyncio.to_thread(with_keywords, found, messages)

    async def _named(
        self, talk: Talk, subjects: Sequence[Subject], previous: Sequence[str]
    ) -> list[_Entry]:
        """The label, positions and parent's label of each topic; parts follow the wider topic."""
        narrow = [part for subject in subjects for part in subject.parts or (subject.places,)]
        found = await labels_of(talk, narrow, self._embedder, previous=previous)
        names = dict(zip(narrow, found, strict=True))
        wide = [subject.places for subject in subjects if subject.parts]
        if wide:
            rest = [subject.places for subject in subjects if not subject.parts]
            taken = tuple(names.values())
            whole = await labels_of(
                talk, [*wide, *rest], self._embedder, previous=previous, taken=taken
            )
            names.update(zip(wide, whole, strict=False))
        entries: list[_Entry] = []
        for subject in subjects:
            label = names[subject.places]
            entries.append((label, subject.places, ""))
            entries += [(names[part], part, label) for part in subject.parts]
        return entries


def _spoken(messages: Sequence[Message], sticky: frozenset[str]) -> list[Message]:
    """The messages that can have a topic: neither instructions nor the answers to them."""
    spoken: list[Message] = []
    after_instruction = False
    for message in messages:
        is_instruction = message.id in sticky
        accepts_one = after_instruction and message.role == "assistant"
        if (
            message.text.strip()
            and message.role in _SPEAKERS
            and not (is_instruction or accepts_one)
        ):
            spoken.append(message)
        after_instruction = is_instruction
    return spoken


def _chronological(
    messages: Sequence[Message], chosen: AbstractSet[MessageId]
) -> tuple[MessageId, ...]:
    return tuple(message.id for message in messages if message.id in chosen)


def _subjects(
    texts: Sequence[str], vectors: Matrix, goes_on: Sequence[bool], model: str
) -> list[Subject]:
    subjects = subjects_of(
        vectors,
        word_vectors(texts),
        goes_on,
        most=MOST_TOPICS,
        refers_back=[refers_back(text) for text in texts],
        ordinary=ordinary_direction(model),
        is_read=_is_read(texts, model),
    )
    smallest = max(1, min(round(len(texts) * _SMALLEST_SHARE), _SMALLEST))
    large = [subject for subject in subjects if len(subject.places) >= smallest]
    return [_without_crumbs(subject) for subject in large or subjects]


def _goes_on(spoken: Sequence[Message]) -> list[bool]:
    """For each message, True if it belongs to the previous one.

    True for answers, courtesies, and what users add to their own message.
    """
    return [
        message.role == "assistant"
        or is_courtesy(message.text)
        or (place > 0 and spoken[place - 1].role == "user" and refers_back(message.text))
        for place, message in enumerate(spoken)
    ]


def _without_crumbs(subject: Subject) -> Subject:
    """The subject without parts of a single message."""
    parts = tuple(part for part in subject.parts if len(part) > 1)
    return Subject(places=subject.places, parts=parts if len(parts) > 1 else ())


def _is_read(texts: Sequence[str], model: str) -> bool:
    """True if the embedding model knows the language of most of the texts."""
    known = Counter(language_of(text[:_READ_FOR_LANGUAGE]) for text in texts[:_MOST_READ])
    unknown = sum(known.values()) - known[""]
    for code in KNOWN if MULTILINGUAL in model else ("en",):
        unknown -= known[code]
    return 2 * unknown <= sum(known.values()) - known[""]


def _speakers(spoken: Sequence[Message]) -> frozenset[str]:
    """The lower-cased names of the speakers."""
    names = (message.extra.get("name") for message in spoken if message.extra)
    return frozenset(
        word for name in names if isinstance(name, str) for word in spelled_words(name)
    )
