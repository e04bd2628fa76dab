"""Groups the messages of a chat into subjects, and many subjects into wider ones."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smart_context.llm.models import Matrix
from smart_context.topics.clusters.units import (
    Floats,
    GroupNumbers,
    at_unit_length,
    coarser,
    hold_together,
    is_between_alike,
    mean_directions,
    merges,
    roots,
    units_of,
)


def without_background(vectors: Matrix, limit: float) -> Matrix:
    """Subtract the rows' common direction until they differ enough; returns unit rows.

    In a chat about one field, or in a language that the model hardly knows, all messages are
    similar; what remains then sets them apart.

    Args:
        vectors: Shape (n, d), unit rows.
        limit: Rows with at most this mean cosine are returned unchanged.
    """
    mean = vectors.mean(axis=0)
    if _alikeness(vectors) <= limit:
        return vectors
    low, high = 0.0, 1.0
    for _ in range(12):
        middle = (low + high) / 2
        if _alikeness(at_unit_length(vectors - middle * mean)) > limit:
            low = middle
        else:
            high = middle
    return at_unit_length(vectors - low * mean)


def _alikeness(rows: Matrix) -> float:
    """The mean cosine of two different rows."""
    count = len(rows)
    total = rows.sum(axis=0)
    return (float(total @ total) - count) / max(1, count * (count - 1))


_ORDINARY = Path(__file__).with_name("ordinary.npy")
_COURTESIES = Path(__file__).with_name("courtesies.npy")
_COURTEOUS = 0.45
_MODELS = frozenset({"all-minilm-l6-v2", "all-minilm", "all-minilm:l6-v2"})
_PRIOR = 40
_ALIKE, _BONUS, _POINTING = 0.25, 0.4, 0.2
"""These and the following are chosen by the adjusted Rand of found topics; docs/relevance.md has
what else was tried, under "Found topics" and "Topics of a chat that grows"."""

_FIRST_UNITS, _BONUS_FIRST, _BESIDE_FIRST = 5, 0.05, 0.2
"""In a chat of up to five questions, each may begin a subject: neighbours get hardly any bonus,
unless the later one points back, and short groups need more similarity to join one."""
_WORDS, _WORDS_UNREAD = 0.8, 1.0
_ALIKENESS, _ALIKENESS_UNREAD = 0.35, 0.1
_SHORT, _BESIDE = 4, 0.11
_MINOR_SHARE, _BESIDE_IF_MINOR = 0.05, 0.05
_BETWEEN = 0.0
_INNER = 0.5
"""A short group joins a neighbour if their similarity is half of that within the group."""

_ABOVE, _USUAL, _USUAL_PAIRS, _FULL, _LEAST_SHARE = 0.1, 0.08, 10, 0.28, 0.45
"""In other languages than English, a question joins a group if their similarity exceeds the chat's
mean by .1. The mean includes ten pairs with the usual similarity, .08. The least similarity is .28
at most, as in English, and .45 of this at least."""

_ABOVE_AFRESH = 0.2
"""The same excess over the chat's mean when a chat is grouped as a whole."""

_LONG, _LARGEST = 60, 0.35
_MOST_UNITS, _MOST_GROUPS = 2_500, 64

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A subject of a chat."""

    places: tuple[int, ...]  # the positions of its messages, ascending
    parts: tuple[tuple[int, ...], ...] = ()  # the narrower subjects in it; empty if it has none


def ordinary_direction(model: str) -> Vector | None:
    """The mean vector of everyday messages; `None` if unknown for the embedding model.

    `python -m tests.benchmarks.fit_relevance` writes the file.
    """
    return _stored(_ORDINARY) if _is_known(model) else None


def means_courtesy(vectors: Matrix, model: str) -> NDArray[np.bool_]:
    """Shape (n,): True for messages that mean thanks or a goodbye, in any language.

    All False if that is unknown for the embedding model.

    Args:
        vectors: Shape (n, d), unit rows or zero rows.
    """
    if not _is_known(model) or not len(vectors):
        return np.zeros(len(vectors), dtype=np.bool_)
    return np.asarray(vectors @ _stored(_COURTESIES) >= _COURTEOUS, dtype=np.bool_)


def _is_known(model: str) -> bool:
    return model.lower().rsplit("/", 1)[-1] in _MODELS


@cache
def _stored(path: Path) -> Vector:
    return np.asarray(np.load(path, allow_pickle=False), dtype=np.float32)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SubjectMessages:
    """The n messages of a chat, with the features that show their subjects."""

    vectors: Matrix  # shape (n, d), the messages' embeddings, unit rows
    lexical: Matrix  # shape (n, e), their words as vectors
    # for each message, True if it belongs to the previous one, as an answer does
    goes_on: Sequence[bool]
    refers_back: Sequence[bool] = ()  # for each message, True if its words point to earlier ones
    # for each message, True for a courtesy or a bare follow-up, of no subject
    says_nothing: Sequence[bool] = ()
    ordinary: Vector | None = None  # the mean vector of everyday messages
    is_read: bool = True  # the embedding model knows the chat's language
    # the chat is in another language than English, and read by a multilingual model whose vectors
    # are mapped to those of the English one
    is_mapped: bool = False

    def rows(self) -> Matrix:
        """Unit rows of meaning and words, less the common part of these and everyday messages.

        The rows of messages that say nothing are zero.
        """
        rows = _rows(self.vectors, self.lexical, self.ordinary, is_read=self.is_read)
        rows[np.flatnonzero(self.says_nothing)] = 0
        return rows

    def bonus(self, directions: Matrix, units: GroupNumbers) -> Floats:
        """Shape (u - 1,): the bonus added to the similarity of neighbours in time."""
        return _bonus(directions, units, self.refers_back if self.is_read else None)

    def are_two_questions(self, units: GroupNumbers) -> bool:
        """True if there are two units, of which the second does not point to the first.

        Neighbours get no bonus then: the first two questions of a chat often have two subjects.
        """
        second = np.flatnonzero(units)[:1]
        is_told = bool(np.isin(second, np.flatnonzero(self.refers_back)).any())
        return self.is_read and int(units[-1]) == 1 and not is_told

    def share_asked(self, directions: Matrix, above: float = _ABOVE) -> float:
        """The least mean similarities, as a share of those in English.

        In other languages, questions of one subject are less similar: .23 to .26 on average in
        German and Arabic, .39 in English. The limit rises with the similarity of all questions.

        Args:
            directions: Shape (u, d), the unit rows of the units.
        """
        if not self.is_mapped:
            return 1.0
        pairs = len(directions) * (len(directions) - 1) / 2
        known = pairs * hold_together(directions) + _USUAL_PAIRS * _USUAL
        usual = known / (pairs + _USUAL_PAIRS)
        return min(max((usual + above) / _FULL, _LEAST_SHARE), 1.0)


def most_of_one(count: int) -> float:
    """The most messages that one subject of a chat of `count` messages may have."""
    return math.inf if count < _LONG else math.floor(_LARGEST * count)


def subjects_of(said: SubjectMessages, *, most: int) -> list[Subject]:
    """The subjects of a chat, the largest first.

    A question and its answers stay together. In a long chat, no subject has more than 35 % of the
    messages. If there are more subjects than `most`, similar ones become parts of a wider one.
    """
    count = len(said.vectors)
    if not count:
        return []
    rows = said.rows()
    units = coarser(units_of(said.goes_on), rows, _MOST_UNITS)
    directions = mean_directions(rows, units)
    sizes = np.bincount(units)
    bonus = said.bonus(directions, units)
    share, beside = said.share_asked(directions, above=_ABOVE_AFRESH), _BESIDE
    if said.are_two_questions(units):
        bonus, share, beside = np.zeros_like(bonus), 1.0, _ALIKE
    elif said.is_read and len(directions) <= _FIRST_UNITS:
        share, beside = 1.0, said.share_asked(directions) * _BESIDE_FIRST
    largest = most_of_one(count)
    found = list(merges(directions, bonus, sizes=sizes.tolist(), most=largest))
    alike = sum(merge.alike >= share * _ALIKE for merge in found)
    cut = max(alike, len(sizes) - _MOST_GROUPS)
    wide_root = roots(found[: max(cut, len(sizes) - most)], len(sizes))
    narrow_root = roots(found[:cut], len(sizes))
    root = _with_offshoots(narrow_root, wide_root, directions, sizes, largest, beside)
    narrow, wide = _groups(root, units), _groups(wide_root[root], units)
    if len(narrow) <= most:
        wide = narrow
    elif count < _LONG:
        narrow = wide
    subjects = [_subject(group, narrow) for group in wide]
    return sorted(subjects, key=lambda subject: (-len(subject.places), subject.places))


def _rows(vectors: Matrix, lexical: Matrix, ordinary: Vector | None, *, is_read: bool) -> Matrix:
    """Unit rows of meaning and words, less the common part of these and everyday messages."""
    prior = np.zeros(vectors.shape[1], dtype=np.float32) if ordinary is None else ordinary
    mean = (vectors.sum(axis=0) + _PRIOR * prior) / (len(vectors) + _PRIOR)
    limit, weight = (_ALIKENESS, _WORDS) if is_read else (_ALIKENESS_UNREAD, _WORDS_UNREAD)
    centred = without_background(at_unit_length(vectors - mean), limit)
    return at_unit_length(np.hstack([centred, lexical * np.float32(weight)]))


def _bonus(directions: Matrix, units: GroupNumbers, refers_back: Sequence[bool] | None) -> Floats:
    """The bonus for the similarity of each unit to the previous one.

    The bonus is small or 0 if the two have nothing in common. That can be judged only in a
    language that the model knows.
    """
    are_few = len(directions) <= _FIRST_UNITS
    usual = _POINTING if are_few else _BONUS
    bonus = np.full(len(directions) - 1, usual, dtype=np.float32)
    if refers_back is not None:
        first = np.flatnonzero(np.diff(units, prepend=-1))
        points = np.isin(first[1:], np.flatnonzero(refers_back))
        alike = np.einsum("ij,ij->i", directions[1:], directions[:-1])
        if are_few:
            bonus[~points] = _BONUS_FIRST
        bonus[alike < _BESIDE] = 0
        bonus[(alike < _BESIDE) & points] = _POINTING
    return bonus


def _with_offshoots(
    root: NDArray[np.intp],
    wide_root: NDArray[np.intp],
    rows: Matrix,
    sizes: NDArray[np.intp],
    largest: float,
    beside: float,
) -> NDArray[np.intp]:
    """Merge short groups into the most similar group next to or around them.

    A single question with its answer needs less similarity in a long chat. It needs hardly any
    between two units of the same group, if it has something in common with one of them.

    Args:
        beside: The least similarity of a group and a neighbouring group that it joins.
    """
    root = root.copy()
    held = np.bincount(root, sizes, len(root))
    held_wide = np.bincount(wide_root, sizes, len(root))
    for group in sorted(set(root.tolist()), key=lambda g: (held[g], g)):
        units = np.flatnonzero(root == group)
        size = sizes[units].sum()
        if size > _SHORT:  # others may have joined it by now
            continue
        near = np.concatenate((units - 1, units + 1)).clip(0, len(root) - 1)
        fits = [
            other
            for other in sorted(set(root[near].tolist()) - {group})
            if wide_root[other] == wide_root[group] or held_wide[wide_root[other]] + size <= largest
        ]
        links = [float((rows[units] @ rows[root == other].T).mean()) for other in fits]
        is_single, is_minor = len(units) == 1, size <= _MINOR_SHARE * sizes.sum()
        is_between = is_single and is_between_alike(rows, root, int(units[0]))
        least = _BETWEEN if is_between else _BESIDE_IF_MINOR if is_single and is_minor else beside
        if links and max(links) >= max(least, _INNER * hold_together(rows[units])):
            kept = fits[int(np.argmax(links))]
            held_wide[wide_root[group]] -= size
            held_wide[wide_root[kept]] += size
            root[units] = kept
    return root


def _groups(root: NDArray[np.intp], units: NDArray[np.intp]) -> list[tuple[int, ...]]:
    """Positions of the messages of each group, from the groups of the units."""
    labels = root[units]
    return [tuple(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)]


def _subject(group: tuple[int, ...], narrow: Sequence[tuple[int, ...]]) -> Subject:
    held = frozenset(group)
    parts = sorted(
        (part for part in narrow if part[0] in held), key=lambda part: (-len(part), part)
    )
    return Subject(places=group, parts=tuple(parts) if len(parts) > 1 else ())
