"""Scores a chat's messages for the selected topics, with the cache, words and scale at hand."""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.llm.models import Matrix
from smart_context.relevance.cache import EmbeddingCache, Progress
from smart_context.relevance.calibrate import Scale, scale_for
from smart_context.relevance.lexical import ChatWords
from smart_context.relevance.score import (
    Evidence,
    Scores,
    TopicQuery,
    score_enriched,
    score_plain,
)
from smart_context.relevance.vectors import similarities
from smart_context.text.words import spelled_words

Mode = Literal["enriched", "plain"]

_WARM_CHATS = 8
_BACKGROUND_MESSAGES = 400


@dataclass(slots=True)
class _WarmWords:
    """A chat's words, for one user at a time."""

    words: ChatWords = field(default_factory=ChatWords)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def shares(
        self, messages: Sequence[Message], labels: Sequence[str]
    ) -> tuple[Matrix, NDArray[np.float32], NDArray[np.float32]]:
        """The messages' shares in the labels' words, their lengths, and which of them ask."""
        self.words.place(messages)
        return self.words.shares(labels), self.words.lengths, self.words.asks


class RelevanceScorer:
    """Joins the vectors, the words and the scale of the embedding model in use."""

    def __init__(
        self, cache: EmbeddingCache, *, mode: Mode = "enriched", scale: Scale | None = None
    ) -> None:
        """Reads and embeds nothing yet.

        Args:
            cache: Where vectors come from.
            mode: `plain` is the raw cosine of bare label and bare message.
            scale: The calibrated scale of the embedding model; `None` picks it by the model's
                name, or estimates it from the chat.
        """
        self._cache = cache
        self._mode = mode
        self._scale = scale
        self._words: OrderedDict[ChatId, _WarmWords] = OrderedDict()

    async def scores(
        self,
        chat_id: ChatId,
        messages: Sequence[Message],
        topics: Sequence[TopicQuery],
        *,
        others: Sequence[TopicQuery] = (),
        more_follow: bool = False,
        mode: Mode | None = None,
        on_progress: Progress | None = None,
    ) -> Scores:
        """Shape (k, n): each of n messages for each of k selected topics.

        Args:
            chat_id: The chat.
            messages: All its messages, oldest first.
            topics: The selected topics.
            others: The chat's topics that are not selected.
            more_follow: Not all of the chat's messages are given, but the first ones.
            mode: Instead of the scorer's own.
            on_progress: Told how many of the missing messages are embedded.

        Raises:
            ModelFailed: If the embedder fails.
        """
        labels = tuple(topic.label for topic in topics)
        label_vectors = await self._cache.queries(labels)  # first: they tell the model's dimension
        vectors = await self._cache.vectors(
            chat_id, messages, more_follow=more_follow, on_progress=on_progress
        )
        vectors = _wide(vectors, label_vectors)
        if (mode or self._mode) == "plain":
            return score_plain(labels, label_vectors, vectors)
        warm = self._warm_chat(chat_id)
        async with warm.lock:
            if warm.words.is_ready(messages, labels):
                lexical, lengths, asks = warm.shares(messages, labels)
            else:
                lexical, lengths, asks = await asyncio.to_thread(warm.shares, messages, labels)
        has_members = any(topic.message_ids for topic in (*topics, *others))
        positions = {m.id: place for place, m in enumerate(messages)} if has_members else {}
        evidence = Evidence(
            vectors=vectors,
            label_vectors=label_vectors,
            lexical=lexical,
            lengths=lengths,
            asks=asks,
            spoken_by=_spoken_by(labels, messages),
            members=[_places(topic, positions) for topic in topics],
            others=np.concatenate([_places(t, positions) for t in others] or [_NOWHERE]),
        )
        return score_enriched(labels, evidence, self._scale_of(evidence))

    def _scale_of(self, evidence: Evidence) -> Scale:
        if self._scale is not None:
            return self._scale
        step = max(1, len(evidence.vectors) // _BACKGROUND_MESSAGES)
        background = similarities(evidence.label_vectors, evidence.vectors[::step])
        return scale_for(self._cache.model, background)

    def _warm_chat(self, chat_id: ChatId) -> _WarmWords:
        warm = self._words.setdefault(chat_id, _WarmWords())
        self._words.move_to_end(chat_id)
        while len(self._words) > _WARM_CHATS:
            self._words.popitem(last=False)
        return warm


_NOWHERE: NDArray[np.intp] = np.zeros(0, dtype=np.intp)


def _places(topic: TopicQuery, positions: Mapping[MessageId, int]) -> NDArray[np.intp]:
    found = [positions[i] for i in topic.message_ids if i in positions]
    return np.array(found, dtype=np.intp)


def _spoken_by(labels: Sequence[str], messages: Sequence[Message]) -> Matrix:
    """Shape (k, n): 1 where a label names the message's author (`name`, as in the OpenAI API)."""
    found = np.zeros((len(labels), len(messages)), dtype=np.float32)
    named = [
        (place, name.casefold())
        for place, message in enumerate(messages)
        if message.extra and isinstance(name := message.extra.get("name"), str)
    ]
    spoken = [frozenset(spelled_words(label)) for label in labels] if named else []
    for row, words in enumerate(spoken):
        for place, name in named:
            found[row, place] = name in words
    return found


def _wide(vectors: Matrix, queries: Matrix) -> Matrix:
    """The vectors, or zero rows as wide as the queries when no message had any text."""
    if vectors.shape[1]:
        return vectors
    return np.zeros((len(vectors), queries.shape[1]), dtype=np.float32)
