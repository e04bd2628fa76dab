"""Clusters a chat's units, each a question with its answers, by average linkage.

Neighbours in time may count as more alike.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smart_context.llm.models import Matrix


def at_unit_length(rows: Matrix) -> Matrix:
    """The rows scaled to length 1; a zero row stays zero."""
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)


GroupNumbers = NDArray[np.intp]
Floats = NDArray[np.float32]
Weights = NDArray[np.float64]
NEVER = np.float32(-9)
"""The similarity of groups that must not merge."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Merge:
    """A merge of two groups."""

    kept: int  # the number of the first group, which the merged one keeps
    gone: int  # the number of the other group
    alike: float  # their mean similarity


def units_of(is_answer: Sequence[bool]) -> GroupNumbers:
    """Shape (n,): the number of each message's unit; answers belong to their question."""
    begins = [not answer for answer in is_answer]
    return np.asarray(np.maximum(np.cumsum(begins) - 1, 0), dtype=np.intp)


def coarser(units: GroupNumbers, rows: Matrix, most: int) -> GroupNumbers:
    """At most `most` units: the units most similar to their previous one are joined to it."""
    count = int(units[-1]) + 1 if len(units) else 0
    if count <= most:
        return units
    directions = mean_directions(rows, units)
    alike = np.einsum("ij,ij->i", directions[1:], directions[:-1])
    begins = np.zeros(count, dtype=np.bool_)
    begins[1 + np.argsort(alike, kind="stable")[: most - 1]] = True
    return np.asarray(np.cumsum(begins)[units], dtype=np.intp)


def mean_directions(rows: Matrix, units: GroupNumbers) -> Matrix:
    """Shape (u, d): the mean direction of each unit's rows."""
    begins = np.flatnonzero(np.diff(units, prepend=-1))
    return at_unit_length(np.add.reduceat(rows, begins, axis=0))


def hold_together(rows: Matrix) -> float:
    """The mean similarity of two different units; 0 for a single one."""
    count = len(rows)
    total = rows.sum(axis=0)
    return float(total @ total - np.vdot(rows, rows)) / max(1, count * (count - 1))


def is_between_alike(rows: Matrix, groups: GroupNumbers, unit: int) -> bool:
    """True if a unit is between two units of one group, and similar to at least one of them.

    Else it may be another subject that came up in between.
    """
    if not 0 < unit < len(groups) - 1 or groups[unit - 1] != groups[unit + 1]:
        return False
    return float((rows[[unit - 1, unit + 1]] @ rows[unit]).max()) >= 0


def merges(
    rows: Matrix, bonus: float | Floats, *, sizes: Sequence[int], most: float = np.inf
) -> Iterator[Merge]:
    """The merges of units; see `merges_of`.

    Args:
        rows: Shape (u, d), unit rows in order of time.
        bonus: The similarity added between neighbours in time: one number, or shape (u - 1,).
    """
    links = np.asarray(rows @ rows.T, dtype=np.float32)
    places = np.arange(len(rows))
    links[places[1:], places[:-1]] += np.float32(bonus)
    links[places[:-1], places[1:]] += np.float32(bonus)
    return merges_of(links, sizes, most)


def merges_of(
    links: Matrix, sizes: Sequence[float] | Weights, most: float, weights: Weights | None = None
) -> Iterator[Merge]:
    """The merges by average linkage, the most similar first, until no two groups may merge.

    Args:
        links: Shape (u, u), the similarities; `NEVER` for those that must not merge. Is changed.
        sizes: Shape (u,).
        most: The largest size of a group that others have joined.
        weights: Shape (u,), how many rows each similarity is the mean of; 1 by default.
    """
    np.fill_diagonal(links, NEVER)
    count = len(links)
    places = np.arange(count)
    nearest = links.argmax(axis=1) if count else places
    best = links[places, nearest]
    weights = np.ones(count) if weights is None else weights
    held = np.array(sizes)
    while count > 1 and best.max() > NEVER:
        one, other = sorted((int(best.argmax()), int(nearest[best.argmax()])))
        yield Merge(kept=one, gone=other, alike=float(links[one, other]))
        share = np.float32(weights[one] / (weights[one] + weights[other]))
        joined = share * links[one] + (1 - share) * links[other]
        weights[one] += weights[other]
        held[one] += held[other]
        is_apart = (links[one] == NEVER) | (links[other] == NEVER)
        joined[is_apart | (held + held[one] > most)] = NEVER
        joined[one] = NEVER
        links[one] = links[:, one] = joined
        links[other] = links[:, other] = NEVER
        is_joined = (places == one) | (places == other)
        stale = np.flatnonzero((nearest == one) | (nearest == other) | is_joined)
        nearest[stale] = links[stale].argmax(axis=1)
        best[stale] = links[stale, nearest[stale]]
        better = joined > best
        nearest[better], best[better] = one, joined[better]


def roots(found: Iterable[Merge], count: int) -> GroupNumbers:
    """The group of each of `count` units after these merges: its first unit."""
    root = np.arange(count)
    for merge in found:
        root[root == root[merge.gone]] = root[merge.kept]
    return root
