"""Judges if a chat is about a topic, and which of its messages are, as probabilities.

The weights are fitted: `python -m tests.benchmarks.fit_relevance` writes `weights.npz`, and names
the data that it fits them to.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from smart_context.base.text.word_lists import lines_of
from smart_context.llm.models import Matrix
from smart_context.relevance.evidence.background import Floats
from smart_context.relevance.evidence.features import (
    CHAT_FEATURES,
    FEATURES,
    READ_ROUGHLY,
    SAID_TOGETHER,
    with_products,
)
from smart_context.relevance.judge.calibrate import SCALES, Scale
from smart_context.relevance.vectors.cosines import unit

FILE = Path(__file__).with_name("weights.npz")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weights:
    """The weights; f features of a message, c of a chat, h hidden units."""

    null_labels: Matrix  # shape (l, d), unit rows: the embedded model's vectors of `null_labels()`
    # shape (c' + 1,): for presence in the chat, where c' includes the products; the last is the
    # constant
    presence: Floats
    mean: Floats  # shape (f,), the features' means
    spread: Floats  # shape (f,), the features' standard deviations
    # shape (3, f): for the rank of a message; the second row times the number of the label's words,
    # the third times the chat's size
    linear: Matrix
    hidden: Matrix  # shape (h, f): from a message's features to the hidden units
    hidden_chat: Matrix  # shape (h, c + 1): from the chat's features; the last is the constant
    hidden_out: Floats  # shape (h,): from the hidden units to the rank
    posterior: Floats  # for the probability of a message; the last is the constant
    # for the probability of a message, given the messages of found topics: of its log-odds by the
    # label alone, its nearness to the topic's messages, 1 if it is one of them, 1 if it belongs to
    # another topic; the last is the constant
    members: Floats


@cache
def null_labels() -> tuple[str, ...]:
    """Labels of many subjects, to compare a topic's label with."""
    return lines_of(Path(__file__).with_name("null_labels.txt"))


@lru_cache(maxsize=2)
def read_weights(path: Path = FILE) -> Weights:
    """The weights in a file that `write_weights` wrote."""
    with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as stored:
        values = {name: stored[name].astype(np.float32) for name in stored.files}
    return Weights(**{**values, "null_labels": unit(values["null_labels"])})


def write_weights(weights: Weights, path: Path) -> None:
    """Store weights: vectors in 8 bits, the others in 32."""
    largest = np.abs(weights.null_labels).max(axis=1, keepdims=True)
    np.savez_compressed(
        path,
        null_labels=np.round(weights.null_labels / largest * 127).astype(np.int8),
        **{
            name: getattr(weights, name).astype(np.float32)
            for name in Weights.__slots__
            if name != "null_labels"
        },
    )


_CLIP = np.float32(6)
_DOUBT = 0.405
"""ln(0.6 / 0.4): added to log-odds, it raises a probability of 0.4 to 0.5."""

_SAID = 0.5
"""The least probability of a topic if one message has all of its words: `asyncio.gather`."""

POSTERIOR_FEATURES = (
    *("close", "unusual", "lexical", "centre", "centre_window", "window", "stretch_best"),
    *("stretch_mean", "session_best", "session_words", "stretch_words"),
)
POSTERIOR_CHAT = (
    *("words", "size", "null_best", "best", "coverage", "window_best", "null_share"),
    *("lexical_around",),
)
_TIMES = ("words", "size", "best")
_ROWS = [FEATURES.index(name) for name in POSTERIOR_FEATURES]


Line = tuple[float, float]
"""A factor and a shift."""

AS_IT_IS: Line = (1.0, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Judge:
    """The decisions for one embedding model."""

    weights: Weights  # fitted with the embedded model
    null_labels: Matrix  # shape (l, d): this model's vectors of `null_labels()`
    scale: Scale | None = None  # the scale of this model's cosines; `None` for the embedded model
    presence: Line = AS_IT_IS  # factor and shift of the evidence that the chat mentions a topic
    posterior: Line = AS_IT_IS  # factor and shift of the evidence that a message is about it

    def fits(self, vectors: Matrix) -> bool:
        """True if the vectors have the dimension of the judge's model."""
        return bool(vectors.shape[1] == self.null_labels.shape[1])

    def as_embedded(self, cosines: Floats) -> Floats:
        """The cosines on the scale of the embedded model."""
        return cosines if self.scale is None else self.scale.as_embedded(cosines)


def judge_for(model: str, scale: Scale | None = None, weights: Path = FILE) -> Judge | None:
    """The package's judge if it fits the model, else `None`."""
    if model.lower().rsplit("/", 1)[-1] not in SCALES:
        return None
    fitted = read_weights(weights)
    return Judge(weights=fitted, null_labels=fitted.null_labels, scale=scale)


def presence(whole: Mapping[str, float], judge: Judge) -> float:
    """The probability that the chat mentions the topic."""
    factor, shift = judge.presence
    evidence = presence_evidence(whole, judge.weights) - _DOUBT * whole[READ_ROUGHLY]
    found = float(sigmoid(np.float32(factor * evidence + shift)))
    return max(found, _SAID) if whole[SAID_TOGETHER] else found


def presence_evidence(whole: Mapping[str, float], weights: Weights) -> float:
    """The log-odds that the chat mentions the topic; 0 is even."""
    return float(np.append(with_products(whole), np.float32(1)) @ weights.presence)


def ranking(features: Matrix, whole: Mapping[str, float], weights: Weights) -> Floats:
    """Shape (n,): the larger, the likelier a message is about the topic, within this chat."""
    x = np.clip((features - weights.mean[:, None]) / weights.spread[:, None], -_CLIP, _CLIP)
    factors = np.array([1, whole["words"], whole["size"] - 1], dtype=np.float32)
    chat = np.array([*(whole[name] for name in CHAT_FEATURES), 1], dtype=np.float32)
    hidden = np.tanh(weights.hidden @ x + (weights.hidden_chat @ chat)[:, None])
    return np.asarray(
        (factors @ weights.linear) @ x + weights.hidden_out @ hidden, dtype=np.float32
    )


def posterior_features(features: Matrix, whole: Mapping[str, float], ranks: Floats) -> Matrix:
    """Shape (p, n): the input for the probability that a message is about the topic.

    A message's place in the ranking is not among them: near-equal messages would get numbers in
    even steps.
    """
    off = ranks - ranks.max()
    logs = off - np.log(np.exp(off).sum())
    likely = np.exp(logs)
    entropy = float(-(likely * logs).sum())
    base = np.concatenate([np.stack([logs, off]), features[_ROWS]])
    of_chat = [entropy, *(whole[name] for name in POSTERIOR_CHAT), float(likely.max())]
    constant = np.tile(np.array(of_chat, dtype=np.float32)[:, None], len(ranks))
    factors = [entropy, *(whole[name] for name in _TIMES)]
    return np.concatenate([base, *(base * np.float32(factor) for factor in factors), constant])


def probabilities(
    features: Matrix, whole: Mapping[str, float], ranks: Floats, judge: Judge
) -> Floats:
    """Shape (n,): the probability that each message is about the topic, if any is."""
    factor, shift = judge.posterior
    evidence = posterior_evidence(features, whole, ranks, judge.weights)
    return sigmoid(np.float32(factor) * evidence + np.float32(shift))


def posterior_evidence(
    features: Matrix, whole: Mapping[str, float], ranks: Floats, weights: Weights
) -> Floats:
    """Shape (n,): the log-odds that each message is about the topic; 0 is even."""
    inputs = posterior_features(features, whole, ranks)
    return np.asarray(weights.posterior[:-1] @ inputs + weights.posterior[-1], dtype=np.float32)


def sigmoid(values: Floats | np.float32) -> Floats:
    """The logistic function of each value, from 0 to 1."""
    return np.asarray(1 / (1 + np.exp(-np.clip(values, -30, 30))), dtype=np.float32)
