"""Scores a chat's messages for the selected topics, with cached vectors and words."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from smart_context.base.text.languages import main_language
from smart_context.base.threads import beside
from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.llm.models import Matrix
from smart_context.relevance.evidence.background import Background, BackgroundMaker, author_of
from smart_context.relevance.evidence.features import are_together
from smart_context.relevance.evidence.lexical import ChatWords
from smart_context.relevance.judge.calibrate import Scale, scale_for
from smart_context.relevance.judge.judging import Judge, judge_for
from smart_context.relevance.label_scores import SearchableChat, named_authors, score_judged
from smart_context.relevance.score import (
    Assigned,
    Evidence,
    Scores,
    TopicQuery,
    score_enriched,
    score_plain,
)
from smart_context.relevance.vectors.cache import EmbeddingCache, Progress
from smart_context.relevance.vectors.cosines import similarities, unit

Mode = Literal["enriched", "plain"]

_WARM_CHATS = 8
_BACKGROUND_MESSAGES = 400
_SCORED_AT_ONCE = 2_000  # messages; more are scored in a thread
_MOST_MEANT, _NEAR, _GAP, _ALIKE = 2, 0.35, 0.12, 0.06
"""Chosen on halves of public dialogues; docs/relevance.md has the results for the other halves."""

_OFF_NEAR, _OFF_GAP, _OFF_SECOND = 0.4, 0.6, 0.3
"""Chosen on public dialogues as well; see `tests/benchmarks/bench_off_pick.py`."""

_FEW_NEW = 32
"""Up to this many new messages are read in the event loop, more in a thread."""


@dataclass(slots=True)
class _WarmWords:
    """The words and background of a chat, kept between calls; one caller at a time."""

    words: ChatWords = field(default_factory=ChatWords)
    maker: BackgroundMaker | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def is_ready(
        self,
        messages: Sequence[Message],
        labels: Sequence[str],
        language: str,
        judge: Judge | None,
    ) -> bool:
        """True if little is left to look up or compute."""
        has_background = judge is None or (
            self.maker is not None and self.maker.new(messages) <= _FEW_NEW
        )
        return has_background and self.words.is_ready(messages, labels, language)

    async def said(
        self, messages: Sequence[Message], labels: Sequence[str], language: str
    ) -> list[str]:
        """The labels whose words all occur in one message."""

        def look_up() -> list[str]:
            self.words.place(messages, language)
            return [label for label in labels if are_together(self.words.holding(label))]

        async with self.lock:
            if self.words.is_ready(messages, labels, language):
                return look_up()
            return await asyncio.to_thread(look_up)

    def prepared(
        self,
        messages: Sequence[Message],
        labels: Sequence[str],
        language: str,
        vectors: Matrix,
        judge: Judge | None,
    ) -> Background | None:
        """Look up the words; returns the chat's background if a judge needs it."""
        self.words.place(messages, language)
        if not self.words.is_ready(messages, labels, language):
            self.words.shares(labels)
        if judge is None:
            return None
        self.maker = self.maker or BackgroundMaker(judge.null_labels, judge.as_embedded)
        return self.maker.background(messages, vectors)


@dataclass(slots=True)
class RelevanceScorer:
    """Scores messages by meaning and by words, on the scale of the embedding model in use."""

    cache: EmbeddingCache
    _: KW_ONLY
    mode: Mode = "enriched"  # `plain` is the raw cosine of bare label and bare message
    # the calibrated scale of the embedding model; `None` picks it by the model's name, or
    # estimates it from the chat
    scale: Scale | None = None
    # decides if messages are about a topic, for its embedding model; `None` picks it by the model's
    # name. Without one, messages that stand out in the chat are chosen.
    judge: Judge | None = None
    _warm: LRUCache[ChatId, _WarmWords] = field(
        default_factory=partial(LRUCache, _WARM_CHATS), init=False
    )

    def __post_init__(self) -> None:
        self.judge = self.judge or judge_for(self.cache.model, self.scale)

    async def nearness(
        self,
        chat_id: ChatId,
        messages: Sequence[Message],
        text: str,
        topics: Sequence[Sequence[int]],
    ) -> NDArray[np.floating[Any]]:
        """Shape (k,): the cosines of a text and the centre of each topic's messages.

        Empty if they can't be compared.

        Args:
            messages: All messages of the chat, oldest first.
            text: The next question, perhaps only begun.
            topics: The positions of each topic's messages.

        Raises:
            ModelFailed: If the embedder fails.
        """
        language = main_language([message.text for message in messages])
        query = await self.cache.queries([text], language=language)
        vectors = _wide(await self.cache.vectors(chat_id, messages), query)
        if not (topics and vectors.shape[1] == query.shape[1]):
            return np.zeros(0)
        centres = unit(np.array([vectors[list(places)].mean(axis=0) for places in topics]))
        return np.asarray(centres @ query[0])

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
        """The scores of n messages for k selected topics, shape (k, n).

        Args:
            messages: All messages of the chat, oldest first.
            others: The chat's topics that are not selected.
            more_follow: True if `messages` is only the beginning of the chat.
            mode: Overrides the scorer's mode.
            on_progress: Called with the number of missing messages embedded so far, and of all.

        Raises:
            ModelFailed: If the embedder fails.
        """
        labels = tuple(topic.label for topic in topics)
        language = main_language([message.text for message in messages])
        # labels before messages, since they show the model's dimension
        warm = self._warm_chat(chat_id)
        said = await warm.said(messages, labels, language)
        label_vectors = await self.cache.queries(labels, language=language, said=said)
        vectors = await self.cache.vectors(
            chat_id, messages, more_follow=more_follow, on_progress=on_progress
        )
        vectors = _wide(vectors, label_vectors)
        if (mode or self.mode) == "plain":
            return score_plain(labels, label_vectors, vectors)
        judge = self.judge if self.judge and self.judge.fits(vectors) else None

        def prepare() -> Background | None:
            return warm.prepared(messages, labels, language, vectors, judge)

        async with warm.lock:
            is_ready = warm.is_ready(messages, labels, language, judge)
            background = await beside(prepare, is_long=not is_ready)

            def scored() -> Scores:
                assigned = _assigned(messages, topics, others)
                if judge is not None and background is not None:
                    chat = SearchableChat(vectors=vectors, background=background, words=warm.words)
                    return score_judged(labels, label_vectors, chat, judge, assigned)
                authors = [(place, author_of(m)) for place, m in enumerate(messages) if m.extra]
                spoken_by = named_authors(labels, authors, len(messages))
                evidence = _evidence(warm.words, labels, label_vectors, vectors, spoken_by)
                scale = self._scale_of(evidence)
                return score_enriched(labels, evidence, scale, assigned, warm.words.copies)

            return await beside(scored, is_long=len(messages) > _SCORED_AT_ONCE)

    def _scale_of(self, evidence: Evidence) -> Scale:
        if self.scale is not None:
            return self.scale
        step = max(1, len(evidence.vectors) // _BACKGROUND_MESSAGES)
        background = similarities(evidence.label_vectors, evidence.vectors[::step])
        return scale_for(self.cache.model, background)

    def _warm_chat(self, chat_id: ChatId) -> _WarmWords:
        return self._warm.setdefault(chat_id, _WarmWords())


def _evidence(
    words: ChatWords,
    labels: Sequence[str],
    label_vectors: Matrix,
    vectors: Matrix,
    spoken_by: Matrix,
) -> Evidence:
    return Evidence(
        vectors=vectors,
        label_vectors=label_vectors,
        lexical=words.shares(labels),
        lengths=words.lengths,
        asks=words.asks,
        spoken_by=spoken_by,
    )


def _assigned(
    messages: Sequence[Message], topics: Sequence[TopicQuery], others: Sequence[TopicQuery]
) -> Assigned:
    has_members = any(topic.message_ids for topic in (*topics, *others))
    positions = {m.id: position for position, m in enumerate(messages)} if has_members else {}
    return Assigned(
        members=[_positions_of(topic, positions) for topic in topics],
        others=[_positions_of(topic, positions) for topic in others],
    )


def _positions_of(topic: TopicQuery, positions: Mapping[MessageId, int]) -> NDArray[np.intp]:
    found = [positions[i] for i in topic.message_ids if i in positions]
    return np.array(found, dtype=np.intp)


def clearly_nearest(near: NDArray[np.floating[Any]]) -> list[int]:
    """The topics that a text is clearly about, by place: none, one, or two; see docs/relevance.md.

    These are the topics before the first wide gap, nearest first; two only if they are about as
    near. Without such a gap, or far from all topics, the text may be about anything.

    Args:
        near: Shape (k,): the nearness of each topic, as a cosine.
    """
    order = np.argsort(-near, kind="stable")[: _MOST_MEANT + 1]
    falling = [*near[order].tolist(), 0.0]
    for count in range(1, min(_MOST_MEANT, len(near)) + 1):
        last = falling[count - 1]
        is_apart = last - falling[count] >= _GAP and falling[0] - last <= _ALIKE
        if last >= _NEAR and is_apart:
            return [int(place) for place in order[:count]]
    return []


def clearly_elsewhere(near: NDArray[np.floating[Any]], picked: Sequence[int]) -> int | None:
    """The position of the topic that a text is clearly about, if it is none of the picked ones.

    Args:
        near: Shape (k,): the nearness of each topic, as a cosine.
        picked: The positions of the picked topics.
    """
    if not picked or len(picked) >= len(near):
        return None
    order = np.argsort(-near, kind="stable").tolist()
    best, second = order[0], order[1]
    gap = near[best] - near[list(picked)].max()
    is_clear = near[best] - near[second] >= _OFF_SECOND
    return int(best) if near[best] >= _OFF_NEAR and gap >= _OFF_GAP and is_clear else None


def _wide(vectors: Matrix, queries: Matrix) -> Matrix:
    """The vectors, or zero rows as wide as the queries when no message had any text."""
    if vectors.shape[1]:
        return vectors
    return np.zeros((len(vectors), queries.shape[1]), dtype=np.float32)
