"""Finds topics without a language model: embedding clusters, named by phrases of the chat."""

import asyncio
import math
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from operator import or_

import numpy as np
from numpy.typing import NDArray

from smart_context.base.errors import ModelFailed
from smart_context.base.text.languages import language_of
from smart_context.base.text.references import names_nothing, refers_back
from smart_context.base.text.words import (
    QUESTION_MARKS,
    UNSPACED_RUN,
    asks,
    content_words,
    spelled_words,
)
from smart_context.chat.messages import Message, MessageId
from smart_context.llm.models import Embedder, Matrix
from smart_context.llm.multilingual.files import MULTILINGUAL
from smart_context.topics.clusters.grouping import (
    Subject,
    SubjectMessages,
    means_courtesy,
    ordinary_direction,
    subjects_of,
)
from smart_context.topics.clusters.keywords import Keywords
from smart_context.topics.clusters.units import at_unit_length, mean_directions, units_of
from smart_context.topics.extraction import (
    NOTHING_BEFORE,
    ExtractionFailed,
    is_spoken,
    with_keywords,
)
from smart_context.topics.growing import (
    GrowingTopic,
    grown_groups,
    is_followed,
    kept_labels,
    stays_as_it_grows,
)
from smart_context.topics.holding import centres_of, nearest_label, with_held
from smart_context.topics.naming.acceptance import is_courtesy, with_short_answers
from smart_context.topics.naming.naming import NAMELESS, Talk, labels_of
from smart_context.topics.standing.personal import standing_facts
from smart_context.topics.standing.standing import standing_instructions
from smart_context.topics.values import (
    MOST_READ,
    MOST_TOPICS,
    Extraction,
    FixedTopics,
    Previous,
    Topic,
)

_SMALLEST_SHARE, _SMALLEST = 0.03, 3
_READ_FOR_LANGUAGE, _MOST_READ = 300, 200
_LONGEST_COURTESY = 120
_LABEL_WORDS = 4
_FEW_ASKED, _FIRST_WORDS = 2, 300
"""Topics of at most two questions are named by the questions alone. In scripts without spaces the
limit is one question: two short ones seldom name the topic, and the answers do."""
_BRIEF_WORDS, _BRIEF_CHARACTERS = 3, 8
"""The most words of a reply that belongs to the question; characters, without spaces."""
_ASKS_OR_COUNTS = re.compile(r"[?\uff1f\u061f\d]")


@dataclass(frozen=True, slots=True)
class EmbeddedTopicExtractor:
    """Finds topics, members and standing instructions offline; satisfies `TopicExtractor`."""

    embedder: Embedder  # gives the messages' vectors; preferably cached
    keywords: Keywords = field(default_factory=Keywords)  # remembers the words of chats

    async def extract(
        self,
        messages: Sequence[Message],
        *,
        previous: Previous = NOTHING_BEFORE,
        regroup: bool = False,
    ) -> Extraction:
        """See `TopicExtractor`; raises `ExtractionFailed` if the embedder fails."""
        sticky = await asyncio.to_thread(standing_instructions, messages)
        known = {message_id for topic in previous.topics for message_id in topic.message_ids}
        spoken = await asyncio.to_thread(_spoken, messages, frozenset(sticky) - known, known)
        if not spoken:
            return Extraction(sticky_ids=sticky)
        is_answer = [message.role == "assistant" for message in spoken]
        try:
            vectors = await self.embedder.embed([message.text for message in spoken])
            facts = await asyncio.to_thread(standing_facts, spoken, vectors)
            sticky = _chronological(messages, {*sticky, *(spoken[place].id for place in facts)})
            said = await asyncio.to_thread(_said, messages, spoken, vectors, self.embedder.name)
            goes_on = not regroup and is_followed(messages, previous)
            is_long = goes_on and stays_as_it_grows(messages, previous)
            groups = [] if is_long else await asyncio.to_thread(_fresh, said)
            labels = list[str]()
            if goes_on:
                groups = await asyncio.to_thread(_grown, messages, spoken, said, previous, groups)
                labels = await asyncio.to_thread(kept_labels, _all(groups), spoken, previous)
            texts = _telling_texts(spoken, said.says_nothing, groups)
            talk = Talk(
                texts=texts,
                vectors=vectors,
                spoken=[message.text[:MOST_READ] for message in spoken],
                is_answer=is_answer,
                speakers=_speakers(spoken),
            )
            hints = tuple(dict.fromkeys(topic.label for topic in previous.topics))
            named = await self._named(talk, groups, labels, hints)
            title = "" if previous.is_titled else await self._title(talk, said.says_nothing)
        except ModelFailed as failure:
            raise ExtractionFailed(f"{self.embedder.name} did not answer: {failure}") from failure
        topics = _without_greetings(_topics(groups, named, spoken), spoken, said.says_nothing)
        topics = await asyncio.to_thread(_held, topics, spoken, said, previous.held)
        found = Extraction(topics=topics, sticky_ids=sticky, title=title)
        return await asyncio.to_thread(with_keywords, found, messages, self.keywords)

    async def _title(self, talk: Talk, says_nothing: Sequence[bool]) -> str:
        """The subject of the first question that names one; empty if none does."""
        asked = (
            place
            for place, (is_answer, is_bare) in enumerate(
                zip(talk.is_answer, says_nothing, strict=True)
            )
            if not is_answer and not is_bare
        )
        first = next(asked, None)
        if first is None:
            return ""
        alone = replace(
            talk,
            texts=[talk.texts[first]],
            vectors=talk.vectors[first : first + 1],
            is_answer=[False],
        )
        (label,) = await labels_of(alone, [[0]], self.embedder)
        return "" if label == NAMELESS else label

    async def _named(
        self, talk: Talk, groups: Sequence[GrowingTopic], kept: Sequence[str], hints: Sequence[str]
    ) -> list[str]:
        """The label of each group and part, in the order of `_all`.

        Args:
            kept: The labels that they keep, in the same order; empty for a new one.
            hints: Labels of the last extraction, for a chat that is grouped again as a whole.
        """
        everything = _all(groups)
        labels = list(kept) or [""] * len(everything)
        free = [] if any(labels) else hints
        narrow = [n for n, group in enumerate(everything) if not group.parts]
        await self._name(talk, everything, labels, narrow, narrow, free)
        wide = [n for n, group in enumerate(everything) if group.parts]
        tops = [n for n, group in enumerate(everything) if group in groups and not group.parts]
        kept_wide = [labels[n] for n in wide]
        await self._name(talk, everything, labels, wide, [*wide, *tops], free)
        for n, stood in zip(wide, kept_wide, strict=True):
            if not stood:
                parts = everything[n].parts
                own = labels[n + 1 : n + 1 + len(parts)]
                labels[n] = await asyncio.to_thread(_wide_label, labels[n], parts, own, talk.texts)
        return labels

    async def _name(
        self,
        talk: Talk,
        everything: Sequence[GrowingTopic],
        labels: list[str],
        wanted: Sequence[int],
        among: Sequence[int],
        hints: Sequence[str],
    ) -> None:
        """Fill in the missing labels of the wanted groups, which set them apart among others."""
        if all(labels[number] for number in wanted):
            return
        places = [everything[number].places for number in among]
        known = {place: labels[n] for place, n in enumerate(among) if labels[n] and n in wanted}
        taken = tuple(label for n, label in enumerate(labels) if label and n not in wanted)
        found = await labels_of(
            talk, places, self.embedder, previous=hints, taken=taken, kept=known
        )
        for place, number in enumerate(among):
            if number in wanted:
                labels[number] = found[place]


def _wide_label(
    found: str, parts: Sequence[GrowingTopic], labels: Sequence[str], texts: Sequence[str]
) -> str:
    """The label of a wide group: the one found if all its parts mention it, else two of theirs.

    Without this, a group of running, climbing and yoga is called Race Pace.
    """
    words = set(content_words(found))
    if all(_speaks_of(words, part, texts) for part in parts):
        return found
    pairs = (
        f"{one} & {other}"
        for one, other in combinations(labels, 2)
        if "&" not in one + other and len(f"{one} {other}".split()) <= _LABEL_WORDS
    )
    return next(pairs, found)


def _speaks_of(words: AbstractSet[str], group: GrowingTopic, texts: Sequence[str]) -> bool:
    read = group.places[:_MOST_READ]
    return sum(not words.isdisjoint(content_words(texts[n])) for n in read) >= len(read) / 4


def _telling_texts(
    spoken: Sequence[Message], says_nothing: Sequence[bool], groups: Sequence[GrowingTopic]
) -> list[str]:
    """The text of each message that names topics; in topics of few questions only theirs."""
    texts = [
        "" if is_bare else message.text[:MOST_READ]
        for message, is_bare in zip(spoken, says_nothing, strict=True)
    ]
    for group in groups:
        asked = [
            place
            for place in group.places
            if spoken[place].role == "user" and content_words(texts[place])
        ]
        is_unspaced = any(UNSPACED_RUN.search(texts[place][:_FIRST_WORDS]) for place in asked[:1])
        if 1 <= len(asked) <= (1 if is_unspaced else _FEW_ASKED):
            for place in {*group.places} - {*asked}:
                texts[place] = ""
    return texts


def _without_greetings(
    topics: tuple[Topic, ...], spoken: Sequence[Message], says_nothing: Sequence[bool]
) -> tuple[Topic, ...]:
    """The topics without those whose messages name nothing, such as a greeting.

    A mere "Why?" stays: it asks about something that a model may name.
    """
    bare = {
        message.id
        for message, is_bare in zip(spoken, says_nothing, strict=True)
        if is_bare and (is_courtesy(message.text) or not refers_back(message.text))
    }
    return tuple(
        topic
        for topic in topics
        if not topic.label.startswith(NAMELESS) or not bare.issuperset(topic.message_ids)
    )


def _all(groups: Sequence[GrowingTopic]) -> list[GrowingTopic]:
    """The groups, each followed by its parts."""
    return [each for group in groups for each in (group, *group.parts)]


def _topics(
    groups: Sequence[GrowingTopic], labels: Sequence[str], spoken: Sequence[Message]
) -> tuple[Topic, ...]:
    named = iter(labels)

    def topic(group: GrowingTopic, whole: Topic | None = None) -> Topic:
        label, before = next(named), group.before
        return Topic(
            label=label,
            count=len(group.places),
            message_ids=tuple(spoken[place].id for place in group.places),
            id=before.id if before else "",
            parent_id=(whole.id or whole.label) if whole else "",
            named=before.named if before and before.label == label else 0,
        )

    found: list[Topic] = []
    for group in groups:
        whole = topic(group)
        found += [whole, *(topic(part, whole) for part in group.parts)]
    return tuple(found)


def _held(
    topics: Sequence[Topic], spoken: Sequence[Message], said: SubjectMessages, held: FixedTopics
) -> tuple[Topic, ...]:
    """The topics with each held message in the nearest of the topics that it is held in."""
    place_of = {message.id: place for place, message in enumerate(spoken)}
    groups = {topic.label: [place_of[i] for i in topic.message_ids] for topic in topics}
    unit_of = units_of(said.goes_on)
    rows = mean_directions(said.vectors, unit_of)[unit_of]
    centres = centres_of(rows, groups)

    def nearest(message_id: MessageId, labels: Sequence[str]) -> str:
        return nearest_label(rows[place_of[message_id]], labels, centres)

    return with_held(topics, held, list(place_of), nearest)


def _spoken(
    messages: Sequence[Message], sticky: frozenset[str], known: AbstractSet[str]
) -> list[Message]:
    """The messages that can have a topic: neither instructions nor the answers to them.

    Greetings before the first question are left out, too, unless they have a topic already.
    """
    spoken: list[Message] = []
    after_instruction, greets = False, False
    for message in messages:
        is_instruction = message.id in sticky
        accepts_one = after_instruction and message.role == "assistant"
        if message.role == "user":
            greets = not spoken and message.id not in known and _is_greeting(message.text)
        if is_spoken(message) and not (is_instruction or accepts_one or greets):
            spoken.append(message)
        after_instruction = is_instruction
    return spoken


def _is_greeting(text: str) -> bool:
    """True for a courtesy, and for a text that names no subject and does not refer back."""
    return is_courtesy(text) or (names_nothing(text) and not refers_back(text))


def _chronological(
    messages: Sequence[Message], chosen: AbstractSet[MessageId]
) -> tuple[MessageId, ...]:
    return tuple(message.id for message in messages if message.id in chosen)


def _said(
    messages: Sequence[Message], spoken: Sequence[Message], vectors: Matrix, model: str
) -> SubjectMessages:
    texts = [message.text[:MOST_READ] for message in spoken]
    plain = [is_courtesy(message.text) or names_nothing(message.text) for message in spoken]
    closes = _closes(spoken, vectors, model)
    is_english, is_multilingual = _is_english(texts), model.startswith(MULTILINGUAL)
    bare = [*map(or_, plain, closes)]
    end = max((n for n, m in enumerate(spoken) if m.role == "user" and not bare[n]), default=-1)
    follows = [
        one or (other and n < end) for n, (one, other) in enumerate(zip(plain, closes, strict=True))
    ]
    return SubjectMessages(
        vectors=vectors,
        lexical=word_vectors(texts),
        goes_on=_goes_on(spoken, messages, follows),
        refers_back=[refers_back(text) for text in texts],
        says_nothing=_says_nothing(spoken, bare),
        ordinary=ordinary_direction(model),
        is_read=is_multilingual or is_english,
        is_mapped=is_multilingual and not is_english,
    )


def _fresh(said: SubjectMessages) -> list[GrowingTopic]:
    """The groups of a chat without regard to its previous topics."""
    found = subjects_of(said, most=MOST_TOPICS)
    bare = np.array(said.says_nothing, dtype=np.bool_)
    subjects = [subject for subject in found if not bare[list(subject.places)].all()] or found
    smallest = _smallest(len(said.vectors))
    large = [subject for subject in subjects if len(subject.places) >= smallest]
    return [
        GrowingTopic(
            places=subject.places, parts=tuple(GrowingTopic(places=part) for part in subject.parts)
        )
        for subject in map(_without_crumbs, large or subjects)
    ]


def _grown(
    messages: Sequence[Message],
    spoken: Sequence[Message],
    said: SubjectMessages,
    previous: Previous,
    fresh: Sequence[GrowingTopic],
) -> list[GrowingTopic]:
    return grown_groups(
        messages,
        spoken,
        said,
        previous,
        afresh=[part.places for group in fresh for part in (group.parts or (group,))],
        smallest=_smallest(len(spoken)),
        most=MOST_TOPICS,
    )


def _smallest(count: int) -> int:
    """The fewest messages of a topic in a chat of `count` messages."""
    return max(1, min(round(count * _SMALLEST_SHARE), _SMALLEST))


def _closes(spoken: Sequence[Message], vectors: Matrix, model: str) -> list[bool]:
    """For each message, True if a user thanks or says goodbye in a sentence of any language.

    Such a message at the end of a chat belongs to no subject.
    """
    return [
        means_one and message.role == "user" and _may_be_courtesy(message.text)
        for message, means_one in zip(spoken, means_courtesy(vectors, model).tolist(), strict=True)
    ]


def _may_be_courtesy(text: str) -> bool:
    """True for a short text without a question or a number."""
    return len(text) <= _LONGEST_COURTESY and not _ASKS_OR_COUNTS.search(text)


def _goes_on(
    spoken: Sequence[Message], messages: Sequence[Message], follows: Sequence[bool]
) -> list[bool]:
    """For each message, True if it belongs to the previous one.

    True for answers, for messages that name no subject ("thanks", "and now?"), for a few words in
    reply to a question of the assistant, and for additions of users to their own message.
    """
    directly_after = {
        after.id for before, after in pairwise(messages) if before.role == after.role == "user"
    }
    return [
        message.role == "assistant"
        or names_no_subject
        or (message.id in directly_after and refers_back(message.text))
        or (place > 0 and _answers(spoken[place - 1], message))
        for place, (message, names_no_subject) in enumerate(zip(spoken, follows, strict=True))
    ]


def _answers(before: Message, message: Message) -> bool:
    """True for a few words of a user in reply to a question of the assistant."""
    is_asked = before.role == "assistant" and before.text.rstrip().endswith(QUESTION_MARKS)
    is_reply = message.role == "user" and not asks(message.text) and _is_brief(message.text)
    return is_asked and is_reply


def _is_brief(text: str) -> bool:
    if UNSPACED_RUN.search(text):
        return len(text) <= _BRIEF_CHARACTERS
    return len(text.split()) <= _BRIEF_WORDS


def _says_nothing(spoken: Sequence[Message], bare: Sequence[bool]) -> list[bool]:
    """For each message, True if it is bare, or answers a courtesy."""
    courteous = [
        is_bare and not refers_back(message.text)
        for message, is_bare in zip(spoken, bare, strict=True)
    ]
    return [*map(or_, bare, with_short_answers(spoken, courteous))]


def _without_crumbs(subject: Subject) -> Subject:
    """The subject without parts of a single message."""
    parts = tuple(part for part in subject.parts if len(part) > 1)
    return Subject(places=subject.places, parts=parts if len(parts) > 1 else ())


def _is_english(texts: Sequence[str]) -> bool:
    """True if most of the texts are in English or in an unknown language."""
    known = Counter(language_of(text[:_READ_FOR_LANGUAGE]) for text in texts[:_MOST_READ])
    del known[""]
    return 2 * known["en"] >= known.total()


def _speakers(spoken: Sequence[Message]) -> frozenset[str]:
    """The lower-cased names of the speakers."""
    names = (message.extra.get("name") for message in spoken if message.extra)
    return frozenset(
        word for name in names if isinstance(name, str) for word in spelled_words(name)
    )


_WIDTH = 256
_WEIGHT = 0.3
"""The squared length of a row: the weight of words, where an embedding has 1."""


def word_vectors(texts: Sequence[str]) -> Matrix:
    """Shape (n, 256): rows of equal length; zero for a text without a shared word.

    Words are weighted by rarity and folded by a fixed random projection: the same texts give the
    same rows on every machine.
    """
    documents = [set(content_words(text)) for text in texts]
    holding = Counter(word for document in documents for word in document)
    rows = np.zeros((len(texts), _WIDTH), dtype=np.float32)
    directions: dict[str, NDArray[np.float32]] = {}
    for place, document in enumerate(documents):
        for word in sorted(word for word in document if holding[word] > 1):
            if word not in directions:
                rarity = math.log(1 + len(texts) / holding[word])
                directions[word] = _direction(word) * np.float32(rarity)
            rows[place] += directions[word]
    return np.asarray(at_unit_length(rows) * math.sqrt(_WEIGHT), dtype=np.float32)


def _direction(word: str) -> NDArray[np.float32]:
    seed = zlib.crc32(word.encode("utf-8", "surrogatepass"))
    return np.random.default_rng(seed).standard_normal(_WIDTH).astype(np.float32)
