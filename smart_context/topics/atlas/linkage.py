"""Groups rows by average linkage, and lets rows join groups that stand."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from smart_context.llm.models import Matrix
from smart_context.topics.clusters.units import NEVER, Merge, Weights, merges_of, roots

_MOST_COMPARED = 2_000
"""The most rows that are compared with each other at once; more come in turns."""

_BLOCK = 256

Numbers = NDArray[np.intp]


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
    sizes = np.ones(len(rows)) if weights is None else weights
    links = np.asarray(rows @ rows.T, dtype=np.float32)
    links[sizes[:, np.newaxis] + sizes > most] = NEVER
    kept: list[Merge] = []
    for merge in merges_of(links, sizes, most):
        left = len(rows) - len(kept)
        is_unlike = merge.alike < least and (enough is None or left <= enough)
        if is_unlike or left <= fewest:
            break
        kept.append(merge)
    _, numbered = np.unique(roots(kept, len(rows)), return_inverse=True)
    return np.asarray(numbered, dtype=np.intp)
