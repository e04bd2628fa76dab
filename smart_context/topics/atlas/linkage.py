"""Groups rows by average linkage, and lets rows join groups that stand."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from smart_context.llm.models import Matrix

_MOST_COMPARED = 2_000
"""The most rows that are compared with each other at once; more come in turns."""

_BLOCK = 256

Numbers = NDArray[np.intp]
Weights = NDArray[np.float64]


def joined(rows: Matrix, standing: Sequence[int], least: float) -> list[int]:
    """The group of each row: those that stand keep theirs, the others join or found one.

    Args:
        rows: Shape (n, d), unit rows.
        standing: For each row its group, counted from 0, or -1.
        least: The least mean likeness to a group's rows that joins it.
    """
    groups = np.array(standing, dtype=np.intp)
    while (free := np.flatnonzero(groups < 0)).size:
        if groups.max(initial=-1) >= 0:
            free = _join(rows, groups, free, least)
        new = free[:_MOST_COMPARED]
        founded = linked(rows[new], least)
        groups[new] = founded + groups.max(initial=-1) + 1
    return [int(group) for group in groups]


def _join(rows: Matrix, groups: Numbers, free: Numbers, least: float) -> Numbers:
    """Let rows join the groups that they are most like; returns those that join none."""
    held = np.flatnonzero(groups >= 0)
    count = int(groups.max()) + 1
    means = np.zeros((count, rows.shape[1]), dtype=np.float32)
    for start in range(0, len(held), _BLOCK):
        block = held[start : start + _BLOCK]
        np.add.at(means, groups[block], rows[block])
    sizes = np.maximum(np.bincount(groups[held], minlength=count), 1)
    means /= sizes.astype(np.float32)[:, None]
    left = []
    for start in range(0, len(free), _BLOCK):
        block = free[start : start + _BLOCK]
        likeness = rows[block] @ means.T
        best = likeness.argmax(axis=1)
        fits = likeness[np.arange(len(block)), best] >= least
        groups[block[fits]] = best[fits]
        left.append(block[~fits])
    return np.concatenate(left)


def linked(
    rows: Matrix,
    least: float,
    *,
    weights: Weights | None = None,
    most: float = np.inf,
    fewest: int = 1,
    enough: int | None = None,
) -> Numbers:
    """The group of each row, counted from 0 in the order of their first rows.

    The two groups that are most alike on average become one, as long as their likeness is at least
    `least`.

    Args:
        least: The least mean likeness of two groups that become one.
        weights: The weight of each row; 1 by default.
        most: The most that a group of several rows may weigh.
        fewest: The number of groups that are not merged further.
        enough: While there are more groups than that, those below `least` are merged, too.
    """
    linkage = _Linkage(rows, np.ones(len(rows)) if weights is None else weights)
    left = len(rows)
    while left > fewest:
        one, other, likeness = linkage.nearest()
        is_unlike = likeness < least and (enough is None or left <= enough)
        if is_unlike or likeness == -np.inf:
            break
        if linkage.weight_of(one, other) > most:
            linkage.keep_apart(one, other)
        else:
            linkage.merge(one, other)
            left -= 1
    _, numbered = np.unique(linkage.groups, return_inverse=True)
    return np.asarray(numbered, dtype=np.intp)


class _Linkage:
    """Groups with their mean likeness to each other, and for each the one that is most alike.

    A group is named by one of its rows. What is no group's name, or must not be merged, has a
    likeness of minus infinity.
    """

    def __init__(self, rows: Matrix, weights: Weights) -> None:
        self.groups = np.arange(len(rows))
        self._likeness = np.asarray(rows @ rows.T, dtype=np.float32)
        np.fill_diagonal(self._likeness, -np.inf)
        self._sizes = np.ones(len(rows))
        self._weights = weights.astype(float)
        self._best = self._likeness.argmax(axis=1) if len(rows) else self.groups.copy()
        self._values = self._likeness[self.groups, self._best]

    def nearest(self) -> tuple[int, int, float]:
        """The two groups that are most alike, and how much."""
        one = int(self._values.argmax())
        return one, int(self._best[one]), float(self._values[one])

    def weight_of(self, *groups: int) -> float:
        """What groups weigh together."""
        return float(self._weights[list(groups)].sum())

    def keep_apart(self, one: int, other: int) -> None:
        """Never merge two groups."""
        self._likeness[one, other] = self._likeness[other, one] = -np.inf
        self._look_again(np.array([one, other]))

    def merge(self, one: int, other: int) -> None:
        """Let a group become part of another."""
        likeness, best, values = self._likeness, self._best, self._values
        share = self._sizes[one] / (self._sizes[one] + self._sizes[other])
        merged = share * likeness[one] + (1 - share) * likeness[other]
        likeness[one] = likeness[:, one] = merged
        likeness[one, one] = -np.inf
        likeness[other] = likeness[:, other] = -np.inf
        self._sizes[one] += self._sizes[other]
        self._weights[one] += self._weights[other]
        self.groups[self.groups == other] = one
        values[other] = -np.inf
        better = likeness[:, one] > values
        best[better], values[better] = one, likeness[better, one]
        stale = ((best == one) | (best == other)) & (values > -np.inf)
        stale[one] = True
        self._look_again(np.flatnonzero(stale))

    def _look_again(self, groups: Numbers) -> None:
        self._best[groups] = self._likeness[groups].argmax(axis=1)
        self._values[groups] = self._likeness[groups, self._best[groups]]
