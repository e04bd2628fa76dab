"""Fits the package's judge to another embedding model, by the topics of a vault's chats."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from smart_context.chat.messages import Message
from smart_context.llm.models import Matrix
from smart_context.relevance.judge.calibrate import Scale
from smart_context.relevance.judge.judging import (
    Judge,
    Line,
    posterior_evidence,
    presence_evidence,
    ranking,
)
from smart_context.relevance.judge.weights import read_weights
from smart_context.relevance.label_scores import SearchableChat, both_passes, evidence_for
from smart_context.topics.values import Topic

_PRIOR = 20.0
_ROUNDS = 30


@dataclass(frozen=True, kw_only=True, eq=False)
class KnownChat:
    """A chat whose topics are known."""

    messages: Sequence[Message]  # all n messages
    vectors: Matrix  # shape (n, d)
    topics: Sequence[Topic]
    labels: Matrix  # shape (k, d), the vectors of the topics' labels
    absent: Sequence[str]  # labels that it never mentions
    absent_labels: Matrix  # shape (a, d), their vectors


def fitted_judge(chats: Sequence[KnownChat], null_labels: Matrix, scale: Scale) -> Judge:
    """The package's judge, its evidence stretched and shifted to fit these chats.

    Args:
        null_labels: The model's vectors of the null labels.
        scale: The scale of the model's cosines.
    """
    judge = Judge(weights=read_weights(), null_labels=null_labels, scale=scale)
    present: list[tuple[float, bool]] = []
    about: list[tuple[float, bool]] = []
    for chat in chats:
        searchable = SearchableChat.of(chat.messages, chat.vectors, judge)
        labels = [*(topic.label for topic in chat.topics), *chat.absent]
        vectors = np.vstack([chat.labels, chat.absent_labels])
        found = both_passes(evidence_for(labels, vectors, searchable, judge), chat.vectors, judge)
        for number, (first, features) in enumerate(found):
            is_there = number < len(chat.topics)
            present.append((presence_evidence(first.whole, judge.weights), is_there))
            if is_there:
                ids = frozenset(chat.topics[number].message_ids)
                ranks = ranking(features, first.whole, judge.weights)
                evidence = posterior_evidence(features, first.whole, ranks, judge.weights)
                places = first.candidates.tolist()
                belongs = (chat.messages[place].id in ids for place in places)
                about += zip(evidence.tolist(), belongs, strict=True)
    return replace(
        judge, presence=_line(present, is_balanced=True), posterior=_line(about, is_balanced=False)
    )


def _line(pairs: Sequence[tuple[float, bool]], *, is_balanced: bool) -> Line:
    """The factor and shift that fit the evidence; near 1 and 0 if there is little of it.

    Args:
        pairs: Evidence, and True if it was right.
        is_balanced: Both outcomes get the same total weight, however many there are of each.
    """
    evidence = np.array([value for value, _ in pairs], dtype=np.float64)
    right = np.array([is_right for _, is_right in pairs], dtype=np.bool_)
    if right.all() or not right.any():
        return (1.0, 0.0)
    share = right.mean() if is_balanced else 0.5
    weights = np.where(right, 0.5 / share, 0.5 / (1 - share))
    found = np.array([1.0, 0.0])
    for _ in range(_ROUNDS):
        found -= _step(found, evidence, right, weights)
    return (round(float(np.clip(found[0], 0.2, 3)), 4), round(float(found[1]), 4))


def _step(
    found: NDArray[np.float64],
    evidence: NDArray[np.float64],
    right: NDArray[np.bool_],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """One step of Newton's method; a prior worth 20 pairs keeps it near no change."""
    x = np.stack([evidence, np.ones_like(evidence)], axis=1)
    p = 1 / (1 + np.exp(-np.clip(x @ found, -30, 30)))
    slope = x.T @ (weights * (p - right)) + _PRIOR * (found - np.array([1.0, 0.0]))
    bend = (x * (weights * p * (1 - p))[:, None]).T @ x + _PRIOR * np.eye(2)
    return np.linalg.solve(bend, slope)
