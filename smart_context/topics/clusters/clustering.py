"""Groups a chat's messages by subject.

Stretches of the chat first, then stretches that belong together, then each message once more.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from smart_context.llm.models import Matrix
from smart_context.topics.clusters.segments import Segment, segments_of

NO_TOPIC = -1

_MOST_SEGMENTS = 600
_AVERAGE_BEFORE, _AVERAGE_AFTER = 0.5, 0.25
_BACKGROUND = 0.1
_ALIKE = 0.22
_SWITCH = 0.3
_ROUNDS = 4
_OFFSHOOT, _OFFSHOOT_SHARE, _BESIDE = 3, 0.2, 0.15
_SHORT = 8

Labels = NDArray[np.intp]


def clusters(vectors: Matrix, lexical: Matrix, is_answer: Sequence[bool], *, most: int) -> Labels:
    """Shape (n,): the group of each message, counted from 0 in order of first appearance.

    Args:
        vectors: Shape (n, d), the messages' embeddings, unit rows.
        lexical: Shape (n, e), their words as vectors; the weight is in their length.
        is_answer: For each message, whether it answers the one before.
        most: At most so many groups.
    """
    if len(vectors) <= 1:
        return np.zeros(len(vectors), dtype=np.intp)
    rows = _unit(np.hstack([without_background(vectors), lexical]))
    rows = _with_neighbours(rows)
    segments = segments_of(rows, is_answer, most=_MOST_SEGMENTS)
    labels = _labels(segments, _joined(rows, segments, most), len(rows))
    cost = np.where(is_answer, 1.5, 1.0).astype(np.float32) * _SWITCH
    return _numbered(_without_offshoots(rows, _numbered(_settled(rows, labels, cost))))


def without_background(vectors: Matrix) -> Matrix:
    """The rows less what all messages of the chat share, as far as they share too much.

    In a language that the model hardly knows, or in a chat about one field, everything is
    alike; what is left then tells the messages apart. Unit rows.
    """
    mean = vectors.mean(axis=0)
    if _alikeness(vectors) <= _BACKGROUND:
        return vectors
    low, high = 0.0, 1.0
    for _ in range(12):
        middle = (low + high) / 2
        if _alikeness(_unit(vectors - middle * mean)) > _BACKGROUND:
            low = middle
        else:
            high = middle
    return _unit(vectors - low * mean)


def _alikeness(rows: Matrix) -> float:
    """The mean cosine of two different rows."""
    count = len(rows)
    total = rows.sum(axis=0)
    return (float(total @ total) - count) / max(1, count * (count - 1))


def _with_neighbours(rows: Matrix) -> Matrix:
    mixed = rows.copy()
    mixed[1:] += np.float32(_AVERAGE_BEFORE) * rows[:-1]
    mixed[:-1] += np.float32(_AVERAGE_AFTER) * rows[1:]
    return _unit(mixed)


def _joined(rows: Matrix, segments: Sequence[Segment], most: int) -> list[list[int]]:
    """Groups of segments by average link; stops when none are alike and they are few enough."""
    sums = np.stack([rows[begin:end].sum(axis=0) for begin, end in segments])
    sizes = np.array([end - begin for begin, end in segments], dtype=np.float32)
    links = sums @ sums.T
    groups: list[list[int]] = [[place] for place in range(len(segments))]
    alive = np.ones(len(segments), dtype=np.bool_)
    average = links / np.outer(sizes, sizes)
    np.fill_diagonal(average, -np.inf)
    for remaining in range(len(segments), 1, -1):
        one, other = divmod(int(average.argmax()), len(segments))
        if average[one, other] < _ALIKE and remaining <= most:
            break
        groups[one] += groups[other]
        groups[other] = []
        alive[other] = False
        sizes[one] += sizes[other]
        links[one] += links[other]
        links[:, one] = links[one]
        fresh = np.where(alive, links[one] / (sizes[one] * sizes), -np.inf)
        fresh[one] = -np.inf
        average[one] = average[:, one] = fresh
        average[other] = average[:, other] = -np.inf
    return [group for group in groups if group]


def _labels(segments: Sequence[Segment], groups: Sequence[Sequence[int]], count: int) -> Labels:
    labels = np.zeros(count, dtype=np.intp)
    for label, group in enumerate(groups):
        for place in group:
            begin, end = segments[place]
            labels[begin:end] = label
    return labels


def _settled(rows: Matrix, labels: Labels, cost: NDArray[np.float32]) -> Labels:
    """Each message with the group that it is closest to, changes of group costing a little."""
    for _ in range(_ROUNDS):
        labels = _numbered(labels)
        again = _best_path(_closeness(rows, labels), cost)
        if (again == labels).all():
            break
        labels = again
    return labels


def _without_offshoots(rows: Matrix, labels: Labels) -> Labels:
    """Where few messages of one group stand in or beside the one that they are most like: joined.

    A question aside is no subject of its own, and a chat of a few messages is about one thing.
    """
    count = len(rows)
    most = count // 2 if count <= _SHORT else min(_OFFSHOOT, int(_OFFSHOOT_SHARE * count))
    labels = labels.copy()
    for label in np.argsort(np.bincount(labels), kind="stable"):
        places = np.flatnonzero(labels == label)
        if len(places) > most:
            break
        around = np.concatenate((places - 1, places + 1)).clip(0, count - 1)
        links = _links(rows, labels, int(label))
        best = int(links.argmax())
        if links[best] >= _BESIDE and best in labels[around]:
            labels[places] = best
    return labels


def _links(rows: Matrix, labels: Labels, label: int) -> Matrix:
    """Shape (groups,): the mean cosine of a group's rows and each other group's."""
    sums = np.zeros((labels.max() + 1, rows.shape[1]), dtype=np.float32)
    np.add.at(sums, labels, rows)
    sizes = np.bincount(labels, minlength=len(sums)).clip(1)
    links = np.asarray(sums @ sums[label] / (sizes * sizes[label]), dtype=np.float32)
    links[label] = -1
    return links


def _closeness(rows: Matrix, labels: Labels) -> Matrix:
    """Shape (n, groups): the cosine of each row to each group's centre, itself left out."""
    sums = np.zeros((labels.max() + 1, rows.shape[1]), dtype=np.float32)
    np.add.at(sums, labels, rows)
    close = rows @ _unit(sums).T
    own = _unit(sums[labels] - rows)
    close[np.arange(len(rows)), labels] = np.einsum("ij,ij->i", rows, own)
    return np.asarray(close, dtype=np.float32)


def _best_path(close: Matrix, cost: NDArray[np.float32]) -> Labels:
    count, groups = close.shape
    total = close[0].copy()
    came_from = np.zeros((count, groups), dtype=np.intp)
    stay = np.arange(groups)
    for place in range(1, count):
        best = int(total.argmax())
        moved = total[best] - cost[place]
        came_from[place] = np.where(total >= moved, stay, best)
        total = np.maximum(total, moved) + close[place]
    path = np.zeros(count, dtype=np.intp)
    path[-1] = int(total.argmax())
    for place in range(count - 1, 0, -1):
        path[place - 1] = came_from[place, path[place]]
    return path


def _numbered(labels: Labels) -> Labels:
    """The same groups, numbered from 0 as they first appear."""
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels.tolist()))}
    return np.array([numbers[label] for label in labels.tolist()], dtype=np.intp)


def _unit(rows: Matrix) -> Matrix:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)
