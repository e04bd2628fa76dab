"""Replays dialogues turn by turn, as in a vault without a model; compares topics with subjects."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from smart_context.chat.messages import Message, MessageId
from smart_context.cli.evaluation.dialogues import Dialogue
from smart_context.cli.evaluation.measures import (
    Agreement,
    Counts,
    Groups,
    Growth,
    growth_of,
    narrowest,
)
from smart_context.topics.extraction import TopicExtractor
from smart_context.topics.identity import with_ids
from smart_context.topics.values import Extraction, Previous, Topic


async def replayed(dialogue: Dialogue, extractor: TopicExtractor, *, start: int = 0) -> Growth:
    """The measures of a dialogue that grows by one question with its answers at a time.

    Args:
        start: The number of messages at the beginning.
    """
    steps = await steps_of(dialogue.messages, extractor, start=start)
    found = growth_of(steps)
    subjects = dialogue.groups or dialogue.segments
    if not subjects or not steps:
        return found
    whole = with_ids((await extractor.extract(dialogue.messages)).topics)
    ids = [message.id for message in dialogue.messages]
    grown, fresh = (
        agreement(ids, [frozenset(t.message_ids) for t in narrowest(topics)], [], subjects)
        for topics in (steps[-1], whole)
    )
    return replace(found, gained=(grown.adjusted_rand - fresh.adjusted_rand,))


async def steps_of(
    messages: Sequence[Message], extractor: TopicExtractor, *, start: int = 0
) -> list[tuple[Topic, ...]]:
    """The topics after each question with its answers; the first time after `start` messages."""
    ends = [n for n, message in enumerate(messages) if n > 0 and message.role == "user"]
    previous = Previous()
    steps: list[tuple[Topic, ...]] = []
    for end in (*(end for end in ends if end >= start), len(messages)):
        found: Extraction = await extractor.extract(messages[:end], previous=previous)
        topics = with_ids(found.topics, previous.topics)
        previous = Previous(topics=topics, seen=messages[end - 1].id)
        steps.append(topics)
    return steps


def agreement(ids: Sequence[MessageId], found: Groups, wide: Groups, subjects: Groups) -> Agreement:
    """Compare topics with subjects; messages without a topic count as one more group.

    Args:
        found: The narrowest topics, disjoint.
        wide: The top-level topics.
    """
    wanted = _numbers(ids, subjects)
    known = wanted >= 0
    best = [max((Counts.of(topic, one).match.f1 for topic in found), default=0) for one in subjects]
    return Agreement(
        adjusted_rand=adjusted_rand(_numbers(ids, found)[known], wanted[known]),
        coverage=sum(best) / max(len(best), 1),
        topics_each=len(found) / max(len(subjects), 1),
        largest=max(map(len, wide), default=0) / max(len(ids), 1),
        is_single=len(found) == 1,
    )


def adjusted_rand(one: NDArray[np.intp], other: NDArray[np.intp]) -> float:
    """The adjusted Rand index of two groupings of the same things."""
    table = np.zeros((len(np.unique(one)), len(np.unique(other))))
    np.add.at(
        table, (np.unique(one, return_inverse=True)[1], np.unique(other, return_inverse=True)[1]), 1
    )
    pairs, rows, columns = (_pairs(v) for v in (table, table.sum(axis=1), table.sum(axis=0)))
    expected = rows * columns / max(_pairs(np.array([len(one)])), 1)
    most = (rows + columns) / 2
    return 1.0 if most == expected else float((pairs - expected) / (most - expected))


def _pairs(counts: NDArray[np.float64] | NDArray[np.intp]) -> float:
    return float((counts * (counts - 1) / 2).sum())


def _numbers(ids: Sequence[MessageId], groups: Groups) -> NDArray[np.intp]:
    number = {one: place for place, group in enumerate(groups) for one in group}
    return np.array([number.get(one, -1) for one in ids], dtype=np.intp)
