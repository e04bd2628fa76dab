"""Topics without a language model: clusters of embeddings, named by phrases of the chat."""

import asyncio
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from smart_context.chat.messages import Message, MessageId
from smart_context.errors import ModelFailed
from smart_context.llm.models import Embedder, Matrix
from smart_context.text.references import refers_back
from smart_context.topics.clusters.clustering import clusters
from smart_context.topics.clusters.word_vectors import word_vectors
from smart_context.topics.extraction import ExtractionFailed, with_keywords
from smart_context.topics.naming.naming import labels_of
from smart_context.topics.standing.personal import standing_facts
from smart_context.topics.standing.standing import standing_instructions
from smart_context.topics.values import MOST_TOPICS, Extraction, Topic

_SMALLEST_SHARE = 0.03
_SPEAKERS = frozenset({"user", "assistant"})


class EmbeddedTopicExtractor:
    """Finds topics, members and standing instructions offline; satisfies `TopicExtractor`.

    Args:
        embedder: Gives the messages' vectors; one that remembers them saves the work.
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
        texts = [message.text for message in spoken]
        is_answer = [message.role == "assistant" for message in spoken]
        goes_on = [message.role == "assistant" or refers_back(message.text) for message in spoken]
        try:
            vectors = await self._embedder.embed(texts)
            facts = await asyncio.to_thread(standing_facts, spoken, vectors)
            sticky = _chronological(messages, {*sticky, *(spoken[place].id for place in facts)})
            groups = await asyncio.to_thread(_groups, texts, vectors, goes_on)
            labels = await labels_of(
                texts,
                vectors,
                groups,
                self._embedder,
                is_answer=is_answer,
                previous=previous_labels,
            )
        except ModelFailed as failure:
            raise ExtractionFailed(f"{self._embedder.name} did not answer: {failure}") from failure
        topics = tuple(
            Topic(
                label=label,
                count=len(group),
                message_ids=tuple(spoken[place].id for place in group),
            )
            for label, group in zip(labels, groups, strict=True)
        )
        found = Extraction(topics=topics, sticky_ids=sticky)
        return await asyncio.to_thread(with_keywords, found, messages)


def _spoken(messages: Sequence[Message], sticky: frozenset[str]) -> list[Message]:
    """What can be about a topic: not the instructions, nor the answer that accepts one."""
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


def _groups(texts: Sequence[str], vectors: Matrix, is_answer: Sequence[bool]) -> list[list[int]]:
    labels = clusters(vectors, word_vectors(texts), is_answer, most=MOST_TOPICS)
    groups = [np.flatnonzero(labels == number).tolist() for number in range(labels.max() + 1)]
    smallest = max(1, round(len(texts) * _SMALLEST_SHARE))
    large = [group for group in groups if len(group) >= smallest] or groups
    return sorted(large, key=lambda group: (-len(group), group[0]))[:MOST_TOPICS]
