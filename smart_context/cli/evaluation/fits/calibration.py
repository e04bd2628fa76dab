"""Pairs of labels and messages from a vault's own chats, for fitting a scale."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import numpy as np

from smart_context.base.errors import ChatUnreadable
from smart_context.base.text.words import content_words
from smart_context.base.values import OWNER
from smart_context.chat.messages import ChatId, Message
from smart_context.cli.evaluation.data.typed import absent_labels
from smart_context.cli.evaluation.fits.judge_fitting import KnownChat, fitted_judge
from smart_context.llm.models import Embedder, Matrix
from smart_context.plugin.choices.sidecar import MEMBERS
from smart_context.plugin.topics.updates import ChatEmbedder
from smart_context.relevance.judge.fitting import Calibration, fitted
from smart_context.relevance.judge.weights import null_labels
from smart_context.relevance.vectors.cache import EmbeddingCache
from smart_context.relevance.vectors.cosines import similarities, unit
from smart_context.storage.ports import ChatDocuments, Chats, Vectors
from smart_context.topics.embedded import EmbeddedTopicExtractor
from smart_context.topics.stored import from_assignments
from smart_context.topics.values import Topic

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
