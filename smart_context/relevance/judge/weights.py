"""The fitted weights of the judge, stored in `weights.npz`.

`python -m tests.benchmarks.fit_relevance` writes the file and names the data it is fitted to.
"""

import io
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from smart_context.base.text.word_lists import lines_of
from smart_context.llm.models import Matrix
from smart_context.relevance.evidence.background import Floats
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
