"""Scores of messages for the selected topics, as pure functions; see docs/filter.md."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from smart_context.chat.messages import MessageId
from smart_context.llm.models import Matrix
from smart_context.relevance.evidence.background import after, around, before, largest_near
from smart_context.relevance.evidence.lexical import pooled
from smart_context.relevance.judge.calibrate import MENTIONED, PROBABLY, Scale
from smart_context.relevance.judge.cuts import cut_of, members_cut
from smart_context.relevance.judge.judging import read_weights
from smart_context.relevance.vectors.cosines import similarities, unit

_SHORT, _LONG = 2.5, 5.5
_LEAST_TYPICAL = 0.05
_SURE = 1e-4
_NEAREST = 2.0
_USUAL_SPREAD = 0.25
_NOWHERE: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
_STANDING_OUT_TO_USER = (
    (-4.0, 0.0, 0.55, 1.5, 3.0, 6.0, 40.0),
    (-0.2, 0.15, PROBABLY, 0.65, 0.85, 0.95, 1.0),
)

DIGITS = 4
"""The digits of scores and cuts in comparisons and in results for programs."""

_STEP = 10**-DIGITS

Mask = NDArray[np.bool_]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicQuery:
    """A topic that the user selected."""

    label: str  # its name, which may be typed by the user
    keywords: tuple[str, ...] = ()  # words that are typical of its messages; empty if unknown
    # the messages that extraction assigned to it; empty if unknown
    message_ids: tuple[MessageId, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Scores:
    """Scores of n messages for k topics, with the rules for keeping messages by them."""

    labels: tuple[str, ...]  # the k topics; empty if their names are unknown
    values: Matrix  # shape (k, n); equal texts have equal scores
    # shape (k,), the probability that the chat mentions each topic; `values` are probabilities
    # then. `None` if `values` are compared with the threshold directly.
    presence: Floats | None = None
    # shape (k, n), True for the known messages of a topic; `None` if unknown
    members: Mask | None = None
    # shape (n,), True for messages of topics that are not selected; `None` if unknown
    others: Mask | None = None

    @property
    def mentioned(self) -> Mask | None:
        """Shape (k,): True for topics that the chat probably mentions; `None` if unknown."""
        return None if self.presence is None else self.presence >= MENTIONED

    @cached_property
    def best(self) -> NDArray[np.float64]:
        """Shape (n,): the largest score of each message, to four digits; NaN counts as -1.

        If the chat mentions some of the topics, only these count.
        """
        if not len(self.values):
            return np.zeros(self.values.shape[1])
        found = np.nan_to_num(self.values, nan=-1.0)[self._rows].max(axis=0)
        best: NDArray[np.float64] = np.round(found.astype(np.float64), DIGITS)
        return best

    def cut(self, threshold: float) -> float:
        """The score from which messages are kept at this threshold; it rises with it.

        It is the threshold if no topic is mentioned or scores are not probabilities. For several
        topics, it is the lowest of their cuts. If all of them are found topics, it is above the
        scores of other topics' messages, from the threshold `PROBABLY` on.
        """
        cut = threshold
        mentioned = self.mentioned
        if (
            self.presence is not None
            and mentioned is not None
            and mentioned.any()
            and self.values.shape[1]
        ):
            rows = zip(self.values[mentioned], self.presence[mentioned].tolist(), strict=True)
            cut = round(min(cut_of(row, threshold, sure) for row, sure in rows), DIGITS)
            cut = max(cut, _STEP) if threshold > 0 else cut
        if threshold >= PROBABLY and (strangers := self._strangers).any():
            cut = max(cut, round(float(self.best[strangers].max()) + _STEP, DIGITS))
        return cut

    def kept_members(self, threshold: float) -> Mask:
        """Shape (n,): True for messages that stay as members of the selected topics.

        All members stay up to the threshold `PROBABLY`; above it, the likeliest.
        """
        kept = np.zeros(self.values.shape[1], dtype=np.bool_)
        if self.members is None:
            return kept
        for row, own in zip(self.values, self.members, strict=True):
            kept |= own & (row >= members_cut(row[own], threshold))
        return kept

    def kept(self, threshold: float) -> Mask:
        """Shape (n,): True for messages that reach the cut, or stay as members of a topic."""
        reaching: Mask = self.best >= self.cut(threshold)
        return reaching | self.kept_members(threshold)

    def of(self, columns: NDArray[np.intp]) -> "Scores":
        """The scores of the messages at these positions; 0 for a negative one."""
        absent = columns < 0
        values = self.values[:, columns]
        values[:, absent] = 0
        return replace(
            self,
            values=values,
            members=None if self.members is None else self.members[:, columns] & ~absent,
            others=None if self.others is None else self.others[columns] & ~absent,
        )

    def without(self, apart: Mask) -> "Scores":
        """The scores with some messages excluded from topics: these neither match nor belong.

        Args:
            apart: Shape (k, n), True for a message to be excluded from a topic.
        """
        members = None if self.members is None else self.members & ~apart
        return replace(self, values=np.where(apart, np.float32(0), self.values), members=members)

    def silent(self, places: Sequence[bool]) -> "Scores":
        """The scores with some messages that match no topic, but stay members of their topics.

        Raw cosines stay as they are.

        Args:
            places: For each message, True if it names no subject.
        """
        if self.presence is None:
            return self
        is_silent = np.array(places, dtype=np.bool_)
        return replace(self, values=np.where(is_silent, np.float32(0), self.values))

    @property
    def _rows(self) -> NDArray[np.intp]:
        if self.mentioned is None or not self.mentioned.any():
            return np.arange(len(self.values))
        return np.flatnonzero(self.mentioned)

    @property
    def are_known(self) -> bool:
        """True if all of the selected topics have known messages."""
        return self.members is not None and bool(self.members[self._rows].any(axis=1).all())

    @property
    def _strangers(self) -> Mask:
        """The messages of other topics, if all of the selected ones have known messages."""
        if self.members is None or self.others is None or not self.are_known:
            return np.zeros(self.values.shape[1], dtype=np.bool_)
        return self.others & ~self.members.any(axis=0)

    def owners_of(self, positions: NDArray[np.intp]) -> list[str]:
        """The labels of the topics that messages of selected topics belong to."""
        if not self.labels or self.members is None:
            return [""] * len(positions)
        own = np.where(self.members[:, positions], self.values[:, positions], -np.inf)
        return [self.labels[row] for row in own.argmax(axis=0).tolist()]

    def topics_of(self, positions: NDArray[np.intp]) -> list[str]:
        """The label of the topic closest to each of these messages; empty if unknown."""
        if not self.labels:
            return [""] * len(positions)
        rows = self._rows
        values = np.nan_to_num(self.values[rows][:, positions], nan=-1.0)
        return [self.labels[rows[best]] for best in values.argmax(axis=0).tolist()]


def score_plain(labels: Sequence[str], label_vectors: Matrix, vectors: Matrix) -> Scores:
    """Raw cosines of bare labels and bare messages, the `plain` mode of docs/filter.md.

    Args:
        label_vectors: Shape (k, d).
        vectors: Shape (n, d). A zero row scores 0.
    """
    values = similarities(unit(label_vectors), unit(vectors))
    return Scores(labels=tuple(labels), values=values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The input of `score_enriched`."""

    vectors: Matrix  # shape (n, d): the messages, unit rows or zero rows
    label_vectors: Matrix  # shape (k, d): the bare labels
    lexical: Matrix  # shape (k, n): the share of the label's words in a message, 0 to 1
    lengths: NDArray[np.float32]  # shape (n,): characters of each message
    asks: NDArray[np.float32]  # shape (n,): 1 for a message with a question mark, else 0
    spoken_by: Matrix  # shape (k, n): 1 if the label names the author of the message, else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Assigned:
    """The messages that extraction assigned to topics."""

    # for each selected topic, the positions of its messages; may be empty
    members: Sequence[NDArray[np.intp]]
    # for each topic that is not selected, the positions of its messages
    others: Sequence[NDArray[np.intp]]

    def member_mask(self, count: int) -> Mask | None:
        """Shape (k, count): True for the known messages of a topic; `None` if none are known."""
        if not any(len(places) for places in self.members):
            return None
        return np.stack([_mask(places, count) for places in self.members])

    def other_mask(self, count: int) -> Mask:
        """Shape (count,): True for messages of topics that are not selected."""
        return _mask(np.concatenate([*self.others, _NOWHERE]), count)


def score_enriched(
    labels: Sequence[str],
    evidence: Evidence,
    scale: Scale,
    assigned: Assigned,
    copies: NDArray[np.intp],
) -> Scores:
    """Scores on the user's scale, by the degree to which a message stands out in its chat.

    Each message is compared with the label by meaning and by words, together with its neighbours.
    Used for embedding models without a fitted judge.

    Args:
        copies: Shape (n,), the position of the first message with the same text.
    """
    close = similarities(evidence.label_vectors, evidence.vectors)
    values = _by_label(scale.to_user(close), evidence)
    weights = read_weights().members
    return with_members(labels, values, evidence.vectors, assigned, copies, weights=weights)


def with_members(
    labels: Sequence[str],
    by_label: Matrix,
    vectors: Matrix,
    assigned: Assigned,
    copies: NDArray[np.intp],
    *,
    weights: Floats,
    presence: Floats | None = None,
) -> Scores:
    """The scores from labels, adjusted by the known members of topics, equal for equal texts.

    Being a member makes a message more likely, being one of another topic less, and being close
    to the members more. The weights were fitted to found topics.

    Args:
        by_label: Shape (k, n), the scores from labels alone.
        vectors: Shape (n, d), unit rows or zero rows.
        copies: Shape (n,), the position of the first message with the same text.
        presence: Shape (k,), the probability that the chat mentions each topic; `None` if the
            scores are not probabilities.
    """
    count = len(vectors)
    members, others = assigned.member_mask(count), assigned.other_mask(count)
    values = by_label
    if members is not None:
        known = members.any(axis=1)
        values = by_label.copy()
        for row in np.flatnonzero(known):
            inputs = member_inputs(by_label[row], vectors, members[row], others)
            values[row] = 1 / (1 + np.exp(-(weights[:-1] @ inputs + weights[-1])))
        presence = None if presence is None else np.where(known, np.float32(1), presence)
    return Scores(
        labels=tuple(labels),
        values=pooled(values, copies),
        presence=presence,
        members=members,
        others=others,
    )


def _mask(places: NDArray[np.intp], count: int) -> Mask:
    mask = np.zeros(count, dtype=np.bool_)
    mask[places] = True
    return mask


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
    """The standard deviations by which a message stands out in its chat, for each topic.

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


def member_inputs(by_label: Floats, vectors: Matrix, members: Mask, others: Mask) -> Matrix:
    """Shape (4, n): the inputs of `Weights.members`, for a topic with known messages.

    Args:
        by_label: Shape (n,), the probabilities by the label alone.
        vectors: Shape (n, d), unit rows or zero rows.
        members: Shape (n,), True for the topic's messages; at least one.
        others: Shape (n,), True for messages of other topics.
    """
    close = similarities(unit(vectors[members].sum(axis=0)[None]), vectors)
    sure = np.clip(by_label, _SURE, 1 - _SURE)
    inputs = (np.log(sure / (1 - sure)), _nearness(close, members), members, others & ~members)
    return np.stack(inputs).astype(np.float32)


def _nearness(close: Matrix, members: Mask) -> Floats:
    """Shape (n,): nearness to the members, with that of the neighbours; 1 is usual for a member."""
    smooth = np.float32(0.6) * close + np.float32(0.25) * before(close)
    smooth += np.float32(0.15) * after(close)
    typical = max(float(np.median(smooth[0, members])), _LEAST_TYPICAL)
    nearest = np.maximum(smooth, np.float32(0.8) * close)[0] / typical
    return np.asarray(np.clip(nearest, 0, _NEAREST), dtype=np.float32)
