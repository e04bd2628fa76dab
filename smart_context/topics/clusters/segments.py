"""Cuts a chat where its subject changes."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from smart_context.llm.models import Matrix

Segment = tuple[int, int]
"""First message, and the one after the last."""

_LONGEST = 60
_CUT = 0.4
_CUT_BEFORE_ANSWER = 1.5


def segments_of(rows: Matrix, is_answer: Sequence[bool], *, most: int) -> list[Segment]:
    """The best cut of n messages into stretches that each point in one direction.

    A stretch is worth the length of its rows' sum, a cut costs a little, and before an answer more.
    Longer stretches than 60 messages are cut too; whoever groups them puts them together again.

    Args:
        rows: Shape (n, d), unit rows.
        is_answer: For each message, whether it answers the one before.
        most: No more stretches than that: cuts get dearer until they are few enough.
    """
    if not len(rows):
        return []
    cost = np.where(np.append(is_answer, False), _CUT_BEFORE_ANSWER, 1.0)
    worths = _worths(rows)
    price = _CUT
    while True:
        found = _best_cut(worths, (price * cost).astype(np.float32))
        if len(found) <= max(most, -(-len(rows) // _LONGEST)):
            return found
        price *= 2


def _worths(rows: Matrix) -> Matrix:
    """Shape (n, 60): what the stretches of 60, 59, … 1 messages that end with each are worth."""
    sums = np.vstack([np.zeros((1, rows.shape[1]), np.float32), np.cumsum(rows, axis=0)])
    worths = np.zeros((len(rows), _LONGEST), dtype=np.float32)
    for done in range(0, len(rows), _LONGEST):
        numbers = np.arange(done + 1, min(done + _LONGEST, len(rows)) + 1)
        first = max(0, done + 1 - _LONGEST)
        ends = sums[numbers] - sums[first]
        begins = sums[first : numbers[-1]] - sums[first]
        squares = _squares(ends)[:, None] + _squares(begins) - 2 * ends @ begins.T
        places = numbers[:, None] + np.arange(-_LONGEST, 0) - first
        chosen = np.take_along_axis(squares, places.clip(0), axis=1)
        worths[numbers - 1] = np.sqrt(chosen.clip(0))
    return worths


def _squares(rows: Matrix) -> Matrix:
    return np.asarray(np.einsum("ij,ij->i", rows, rows), dtype=np.float32)


def _best_cut(worths: Matrix, cost: NDArray[np.float32]) -> list[Segment]:
    count = len(worths)
    best = np.zeros(count + 1)
    begins = np.zeros(count + 1, dtype=np.intp)
    for end in range(1, count + 1):
        first = max(0, end - _LONGEST)
        total = best[first:end] + worths[end - 1, first - end :] - cost[first:end]
        choice = int(total.argmax())
        best[end], begins[end] = total[choice], first + choice
    found: list[Segment] = []
    end = count
    while end:
        found.append((int(begins[end]), end))
        end = int(begins[end])
    return found[::-1]
