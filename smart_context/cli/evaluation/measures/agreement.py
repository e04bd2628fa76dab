"""Compares found groups of messages with the known ones."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import numpy as np
from numpy.typing import NDArray

from smart_context.chat.messages import MessageId
from smart_context.cli.evaluation.measures.measures import Agreement, Counts

Groups = Sequence[AbstractSet[MessageId]]


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
