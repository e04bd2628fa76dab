"""Scores of messages for the selected topics, as pure functions; see docs/filter.md."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from smart_context.chat.messages import MessageId
from smart_context.llm.models import Matrix
from smart_context.relevance.evidence.neighbours import after, around, before, largest_near
from smart_context.relevance.judge.calibrate import PROBABLY, Scale
from smart_context.relevance.vectors.cosines import similarities, unit

_SHORT, _LONG = 2.5, 5.5
_LEAST_TYPICAL = 0.05
_JUST_BELOW = np.float32(0.39)
_LEAST = 0.05
_USUAL_SPREAD = 0.25
_NOWHERE: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
_STANDING_OUT_TO_USER = (
    (-4.0, 0.0, 0.55, 1.5, 3.0, 6.0, 40.0),
    (-0.2, 0.15, 0.4, 0.65, 0.85, 0.95, 1.0),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicQuery:
    """A topic that the user selected.

    Attributes:
        label: Its name, which may be typed by the user.
        keywords: Words that are typical of its messages; empty if unknown.
        message_ids: The messages that extraction assigned to it; empty if unknown.
    """

    label: str
    keywords: tuple[str, ...] = ()
    message_ids: tuple[MessageId, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Scores:
    """Scores of n messages for k topics, on the scale of the threshold.

    Attributes:
        labels: The k topics; empty if their names are unknown.
        values: Shape (k, n).
    """

    labels: tuple[str, ...]
    values: Matrix

    @cached_property
    def best(self) -> NDArray[np.float32]:
        """Shape (n,): the largest score of each message; NaN counts as -1."""
        if not len(self.values):
            return np.zeros(self.values.shape[1], dtype=np.float32)
        best: NDArray[np.float32] = np.nan_to_num(self.values, nan=-1.0).max(axis=0)
        return best

    def topic_of(self, position: int) -> str:
        """The label of the topic closest to the message; empty if unknown."""
        return self.topics_of(np.array([position]))[0]

    def topics_of(self, positions: NDArray[np.intp]) -> list[str]:
        """Like `topic_of`, for each of these positions."""
        if not self.labels:
            return [""] * len(positions)
        return [self.labels[row] for row in self.values[:, positions].argmax(axis=0).tolist()]


def score_plain(labels: Sequence[str], label_vectors: Matrix, vectors: Matrix) -> Scores:
    """Raw cosines of bare labels and bare messages, the `plain` mode of docs/filter.md.

    Args:
        labels: The k labels.
        label_vectors: Shape (k, d).
        vectors: Shape (n, d). A zero row scores 0.
    """
    values = similarities(unit(label_vectors), unit(vectors))
    return Scores(labels=tuple(labels), values=values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The input of `score_enriched`.

    Attributes:
        vectors: Shape (n, d): the messages, unit rows or zero rows.
        label_vectors: Shape (k, d): the bare labels.
        lexical: Shape (k, n): the share of the label's words in a message, 0 to 1.
        lengths: Shape (n,): characters of each message.
        asks: Shape (n,): 1 for a message with a question mark, else 0.
        spoken_by: Shape (k, n): 1 if the label names the author of the message, else 0.
    """

    vectors: Matrix
    label_vectors: Matrix
    lexical: Matrix
    lengths: NDArray[np.float32]
    asks: NDArray[np.float32]
    spoken_by: Matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class Assigned:
    """The messages that extraction assigned to topics.

    Attributes:
        members: For each selected topic, the positions of its messages; may be empty.
        others: For each topic that is not selected, the positions of its messages.
    """

    members: Sequence[NDArray[np.intp]]
    others: Sequence[NDArray[np.intp]]


def score_enriched(
    labels: Sequence[str], evidence: Evidence, scale: Scale, assigned: Assigned
) -> Scores:
    """Scores on the user's scale, according to how much a message stands out in its chat.

    Each message is compared with the label by meaning and by words, together with its neighbours.
    Used for embedding models without a fitted judge.
    """
    close = similarities(evidence.label_vectors, evidence.vectors)
    values = _by_label(scale.to_user(close), evidence)
    return Scores(labels=tuple(labels), values=with_members(values, evidence.vectors, assigned))


def with_members(by_label: Matrix, vectors: Matrix, assigned: Assigned) -> Matrix:
    """Shape (k, n): the scores from labels, adjusted by the known members of topics.

    Messages near the centre of a topic's members score more. The members themselves score at
    least 0.4; members of topics that are not selected score below it.

    Args:
        by_label: Shape (k, n), the scores from labels alone.
        vectors: Shape (n, d), unit rows or zero rows.
        assigned: The members of topics.
    """
    known = [row for row, members in enumerate(assigned.members) if len(members)]
    if not known:
        return by_label
    values = by_label.copy()
    centres = [vectors[assigned.members[row]].sum(axis=0) for row in known]
    close = similarities(unit(np.stack(centres)), vectors)
    others = np.concatenate([*assigned.others, _NOWHERE])
    for row, near in zip(known, close, strict=True):
        values[row] = _by_members(values[row], near[None], assigned.members[row], others)
    return values


def _by_label(alike: Matrix, evidence: Evidence) -> Matrix:
    """Shape (k, n): scores from labels alone, given the cosines on the user's scale."""
    lexical = evidence.lexical
    raw = (
        np.float32(0.55) * alike
        + np.float32(0.27) * (before(alike) + after(alike))
        + np.float32(1.9) * lexical
        + np.float32(1.4) * before(lexical)
        + np.float32(0.15) * after(lexical)
        + np.float32(12) * around(lexical)
        + np.float32(2) * largest_near(lexical)
        + np.float32(0.2) * before(alike * evidence.asks)
        + np.float32(0.04) * np.clip(np.log1p(evidence.lengths), _SHORT, _LONG)
        + np.float32(0.22) * evidence.spoken_by
    )
    values = np.interp(_standing_out(raw), *_STANDING_OUT_TO_USER)
    return np.asarray(values * _presence(alike, lexical), dtype=np.float32)


def _standing_out(raw: Matrix) -> Matrix:
    """How many standard deviations a message stands out in its chat, for each topic.

    A typical spread is mixed in, so that even a chat of three messages has one.
    """
    count = raw.shape[1]
    if not count:
        return raw
    off = raw - raw.mean(axis=1, keepdims=True)
    squares = (off**2).sum(axis=1, keepdims=True)
    spread = np.sqrt((squares + _USUAL_SPREAD**2) / (count + 1))
    return np.asarray(off / spread, dtype=np.float32)


def _presence(alike: Matrix, lexical: Matrix) -> Matrix:
    """Shape (k, 1): near 1 if the chat mentions the topic at all, else small."""
    if not alike.shape[1]:
        return np.ones((len(alike), 1), dtype=np.float32)
    peak = alike.max(axis=1, keepdims=True) + lexical.max(axis=1, keepdims=True)
    return np.asarray(np.interp(peak, (0.3, 0.45), (0.35, 1.0)), dtype=np.float32)


def _by_members(
    by_name: NDArray[np.float32],
    close: Matrix,
    members: NDArray[np.intp],
    others: NDArray[np.intp],
) -> NDArray[np.float32]:
    """Shape (n,): scores of a topic with known members.

    `close` has shape (1, n): the cosines with the centre of the members.
    """
    smooth = np.float32(0.6) * close + np.float32(0.25) * before(close)
    smooth += np.float32(0.15) * after(close)
    typical = max(float(np.median(smooth[0, members])), _LEAST_TYPICAL)
    closest = np.maximum(smooth, np.float32(0.8) * close)[0] / typical
    near = np.interp(closest, (0.2, 0.8, 1.3), (0.0, 0.4, 0.8))
    values = np.asarray(0.5 * near + 0.5 * by_name, dtype=np.float32)
    values[others] = np.minimum(values[others], _JUST_BELOW)
    values[members] = PROBABLY + (1 - PROBABLY) * _left(np.clip(values[members], _LEAST, 1))
    return values


def _left(likely: NDArray[np.float32]) -> NDArray[np.float32]:
    """For each message, the share of the total that it holds together with all less likely ones."""
    order = np.argsort(-likely, kind="stable")
    sums = np.cumsum(likely[order][::-1], dtype=np.float64)[::-1]
    left = np.empty(len(likely), dtype=np.float32)
    left[order] = sums / sums[0]
    return left
