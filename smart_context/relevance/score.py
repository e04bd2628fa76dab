"""How much each message is about each selected topic: contract A8, step 3, as pure functions."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from smart_context.chat.messages import MessageId
from smart_context.llm.models import Matrix
from smart_context.relevance.calibrate import Scale
from smart_context.relevance.vectors import similarities, unit

_KEYWORDS_ASKED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicQuery:
    """What is known of a topic that the user selected.

    Attributes:
        label: Its name; may be free text of the user's.
        keywords: What its messages speak of; empty when nobody has said.
        message_ids: The messages that extraction assigned to it; empty when unknown.
    """

    label: str
    keywords: tuple[str, ...] = ()
    message_ids: tuple[MessageId, ...] = ()

    @property
    def description(self) -> str:
        """The label with its keywords, as one text to embed."""
        if not self.keywords:
            return self.label
        return f"{self.label}: {', '.join(self.keywords[:_KEYWORDS_ASKED])}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Scores:
    """Scores of n messages for k topics, on the scale that the threshold is on.

    Attributes:
        labels: The k topics; empty when their names aren't known.
        values: Shape (k, n).
    """

    labels: tuple[str, ...]
    values: Matrix

    @cached_property
    def best(self) -> NDArray[np.float32]:
        """Shape (n,): the largest score of each message; what is not a number counts as -1."""
        if not len(self.values):
            return np.zeros(self.values.shape[1], dtype=np.float32)
        best: NDArray[np.float32] = np.nan_to_num(self.values, nan=-1.0).max(axis=0)
        return best

    def topic_of(self, position: int) -> str:
        """The label of the topic that the message is closest to; empty when that isn't known."""
        if not self.labels:
            return ""
        return self.labels[int(self.values[:, position].argmax())]


def score_plain(labels: Sequence[str], label_vectors: Matrix, vectors: Matrix) -> Scores:
    """Raw cosines of bare labels and bare messages: the seed to the letter.

    Args:
        labels: The k labels.
        label_vectors: Shape (k, d).
        vectors: Shape (n, d). A zero row scores 0.
    """
    values = similarities(unit(label_vectors), unit(vectors))
    return Scores(labels=tuple(labels), values=values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that `score_enriched` looks at.

    Attributes:
        vectors: Shape (n, d): the messages, unit rows or zero rows.
        label_vectors: Shape (k, d): the bare labels.
        description_vectors: Shape (k, d): the labels with their keywords.
        lexical: Shape (k, n): share of the topic's words that a message uses, 0 to 1.
        members: For each topic, positions of the messages assigned to it; may be empty.
        others: Positions of messages assigned to topics that are not selected.
    """

    vectors: Matrix
    label_vectors: Matrix
    description_vectors: Matrix
    lexical: Matrix
    members: Sequence[NDArray[np.intp]]
    others: NDArray[np.intp]


def score_enriched(labels: Sequence[str], evidence: Evidence, scale: Scale) -> Scores:
    """The likeliest messages, from all that is known of a topic, on the user's scale.

    A topic is its members' centre, its label and its keywords; a message is read with its
    neighbours; shared words count. Empty messages are scored by their neighbours alone.
    """
    vectors = evidence.vectors
    named = similarities(evidence.label_vectors, vectors)
    described = similarities(evidence.description_vectors, vectors)
    raw = smoothed(np.maximum(named, described)) + 0.25 * smoothed(evidence.lexical)
    values = scale.to_user(raw)
    for row, members in enumerate(evidence.members):
        if len(members):
            values[row] = _by_members(values[row], vectors, members, evidence.others)
    return Scores(labels=tuple(labels), values=values)


def smoothed(values: Matrix) -> Matrix:
    """Shape (k, n) with each column taking a part of its neighbours', more of the one before."""
    result = values * np.float32(0.6)
    if values.shape[1] > 1:
        result[:, 1:] += np.float32(0.25) * values[:, :-1]
        result[:, 0] += np.float32(0.25) * values[:, 0]
        result[:, :-1] += np.float32(0.15) * values[:, 1:]
        result[:, -1] += np.float32(0.15) * values[:, -1]
    return result


def _by_members(
    by_label: NDArray[np.float32],
    vectors: Matrix,
    members: NDArray[np.intp],
    others: NDArray[np.intp],
) -> NDArray[np.float32]:
    """Scores of one topic when it is known which messages belong to it."""
    centre = unit(vectors[members].sum(axis=0))
    close = smoothed(similarities(centre[None], vectors))[0]
    values = np.maximum(by_label, np.interp(close, (0.0, 0.45, 0.8), (0.0, 0.4, 0.85)))
    values[others] = by_label[others] * np.float32(0.7)
    values[members] = 0.5 + 0.5 * np.clip(values[members], 0, 1)
    return np.asarray(values, dtype=np.float32)
