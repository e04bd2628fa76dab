"""Pairs of labels and messages from a vault's own chats, for fitting a scale."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from smart_context.base.errors import ChatUnreadable
from smart_context.base.text.words import content_words
from smart_context.base.values import OWNER
from smart_context.chat.messages import ChatId, Message
from smart_context.cli.evaluation.typed import absent_labels
from smart_context.llm.models import Embedder, Matrix
from smart_context.plugin.choices.sidecars import MEMBERS
from smart_context.plugin.topics.updates import ChatEmbedder
from smart_context.relevance.judge.calibrate import Scale
from smart_context.relevance.judge.fitting import Calibration, fitted
from smart_context.relevance.judge.judging import (
    Judge,
    Line,
    posterior_evidence,
    presence_evidence,
    ranking,
)
from smart_context.relevance.judge.weights import null_labels, read_weights
from smart_context.relevance.label_scores import SearchableChat, both_passes, evidence_for
from smart_context.relevance.vectors.cache import EmbeddingCache
from smart_context.relevance.vectors.cosines import similarities, unit
from smart_context.storage.ports import ChatDocuments, Chats, Vectors
from smart_context.topics.embedded import EmbeddedTopicExtractor
from smart_context.topics.stored import from_assignments
from smart_context.topics.values import Topic

_PRIOR = 20.0
_ROUNDS = 30


@dataclass(frozen=True, kw_only=True, eq=False)
class KnownChat:
    """A chat whose topics are known."""

    messages: Sequence[Message]  # all n messages
    vectors: Matrix  # shape (n, d)
    topics: Sequence[Topic]
    labels: Matrix  # shape (k, d), the vectors of the topics' labels
    absent: Sequence[str]  # labels that it never mentions
    absent_labels: Matrix  # shape (a, d), their vectors


def fitted_judge(chats: Sequence[KnownChat], null_labels: Matrix, scale: Scale) -> Judge:
    """The package's judge, its evidence stretched and shifted to fit these chats.

    Args:
        null_labels: The model's vectors of the null labels.
        scale: The scale of the model's cosines.
    """
    judge = Judge(weights=read_weights(), null_labels=null_labels, scale=scale)
    present: list[tuple[float, bool]] = []
    about: list[tuple[float, bool]] = []
    for chat in chats:
        searchable = SearchableChat.of(chat.messages, chat.vectors, judge)
        labels = [*(topic.label for topic in chat.topics), *chat.absent]
        vectors = np.vstack([chat.labels, chat.absent_labels])
        found = both_passes(evidence_for(labels, vectors, searchable, judge), chat.vectors, judge)
        for number, (first, features) in enumerate(found):
            is_there = number < len(chat.topics)
            present.append((presence_evidence(first.whole, judge.weights), is_there))
            if is_there:
                ids = frozenset(chat.topics[number].message_ids)
                ranks = ranking(features, first.whole, judge.weights)
                evidence = posterior_evidence(features, first.whole, ranks, judge.weights)
                places = first.candidates.tolist()
                belongs = (chat.messages[place].id in ids for place in places)
                about += zip(evidence.tolist(), belongs, strict=True)
    return replace(
        judge, presence=_line(present, is_balanced=True), posterior=_line(about, is_balanced=False)
    )


def _line(pairs: Sequence[tuple[float, bool]], *, is_balanced: bool) -> Line:
    """The factor and shift that fit the evidence; near 1 and 0 if there is little of it.

    Args:
        pairs: Evidence, and True if it was right.
        is_balanced: Both outcomes get the same total weight, however many there are of each.
    """
    evidence = np.array([value for value, _ in pairs], dtype=np.float64)
    right = np.array([is_right for _, is_right in pairs], dtype=np.bool_)
    if right.all() or not right.any():
        return (1.0, 0.0)
    share = right.mean() if is_balanced else 0.5
    weights = np.where(right, 0.5 / share, 0.5 / (1 - share))
    found = np.array([1.0, 0.0])
    for _ in range(_ROUNDS):
        found -= _step(found, evidence, right, weights)
    return (round(float(np.clip(found[0], 0.2, 3)), 4), round(float(found[1]), 4))


def _step(
    found: NDArray[np.float64],
    evidence: NDArray[np.float64],
    right: NDArray[np.bool_],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """One step of Newton's method; a prior worth 20 pairs keeps it near no change."""
    x = np.stack([evidence, np.ones_like(evidence)], axis=1)
    p = 1 / (1 + np.exp(-np.clip(x @ found, -30, 30)))
    slope = x.T @ (weights * (p - right)) + _PRIOR * (found - np.array([1.0, 0.0]))
    bend = (x * (weights * p * (1 - p))[:, None]).T @ x + _PRIOR * np.eye(2)
    return np.linalg.solve(bend, slope)


FEWEST_MESSAGES = 6
MOST_CHATS = 200
_ABSENT = 16
_WIDEST = 0.5
"""A topic with a larger share of its chat's messages is skipped: it sets too little apart."""


@dataclass(kw_only=True)
class _Pairs:
    about: list[float]
    others: list[float]
    chats: int = 0
    topics: int = 0
    known: list[KnownChat] = field(default_factory=list)


async def calibrated(
    store: Chats,
    documents: ChatDocuments,
    embedder: Embedder,
    scratch: Vectors,
    *,
    now: datetime | None = None,
) -> Calibration:
    """The scale and judge that fit the newest 200 chats best; stores nothing.

    Uses the topics stored with each chat; where there are none, they are found offline.

    Args:
        documents: What stands beside them.
        scratch: Keeps vectors meanwhile.
        now: The time in UTC; the clock's by default.

    Raises:
        NotEnough: If the chats are too few to fit to.
        ModelFailed: If the embedder fails.
        ExtractionFailed: If the topics of a chat can't be found because of it.
    """
    cache = EmbeddingCache(scratch, embedder)
    pairs = _Pairs(about=[], others=[])
    for summary in (await store.listing.rows(OWNER))[:MOST_CHATS]:
        try:
            messages = tuple(filter(_says_something, await store.messages(summary.id)))
        except ChatUnreadable:
            continue
        if len(messages) >= FEWEST_MESSAGES:
            stored = (await documents.read(summary.id, MEMBERS))[0].value
            await _add(pairs, from_assignments(stored), cache, summary.id, messages)
    found = fitted(
        pairs.about,
        pairs.others,
        model=embedder.name,
        chats=pairs.chats,
        topics=pairs.topics,
        now=now or datetime.now(UTC),
    )
    nulls = await cache.queries(null_labels())
    judge = await asyncio.to_thread(fitted_judge, pairs.known, nulls, found.scale)
    return replace(found, judge=judge)


async def _add(
    pairs: _Pairs,
    topics: Sequence[Topic],
    cache: EmbeddingCache,
    chat_id: ChatId,
    messages: Sequence[Message],
) -> None:
    if not topics:
        extractor = EmbeddedTopicExtractor(ChatEmbedder(cache, chat_id, messages))
        topics = (await extractor.extract(messages)).topics
    if not topics:
        return
    member_ids = frozenset(i for topic in topics for i in topic.message_ids)
    known = np.array([message.id in member_ids for message in messages])
    labels = await cache.queries([topic.label for topic in topics])
    vectors = await cache.vectors(chat_id, messages)
    pairs.known.append(await _known(cache, messages, vectors, topics, labels))
    before = pairs.topics
    for topic, label in zip(topics, labels, strict=True):
        members = np.array([message.id in topic.message_ids for message in messages])
        if 0 < members.sum() <= _WIDEST * max(known.sum(), 1):
            close = similarities(unit(label[None]), vectors)[0]
            pairs.about += close[members].tolist()
            pairs.others += close[known & ~members].tolist()
            pairs.topics += 1
    pairs.chats += pairs.topics > before


async def _known(
    cache: EmbeddingCache,
    messages: Sequence[Message],
    vectors: Matrix,
    topics: Sequence[Topic],
    labels: Matrix,
) -> KnownChat:
    used = {word for message in messages for word in content_words(message.text)}
    free = [label for label in absent_labels() if used.isdisjoint(content_words(label))]
    absent = free[:: max(1, len(free) // _ABSENT)][:_ABSENT]
    return KnownChat(
        messages=messages,
        vectors=vectors,
        topics=topics,
        labels=labels,
        absent=absent,
        absent_labels=await cache.queries(absent),
    )


def _says_something(message: Message) -> bool:
    return message.is_complete and bool(message.text.strip())
