"""The fitted numbers that judge relevance, as they lie in `weights.npz`.

`python -m tests.benchmarks.fit_relevance` makes the file and names the data that it is fitted to.
"""

import io
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from smart_context.llm.models import Matrix
from smart_context.relevance.evidence.background import Floats
from smart_context.relevance.vectors.cosines import unit
from smart_context.text.word_lists import lines_of

FILE = Path(__file__).with_name("weights.npz")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weights:
    """What the fit found; f features of a message, c of a chat, h hidden units.

    Attributes:
        null_labels: Shape (l, d), unit rows: the embedded model's vectors of `null_labels()`.
        presence: Shape (c' + 1,): whether the chat speaks of the topic; the last is the constant.
        mean: Shape (f,), the features' means.
        spread: Shape (f,), their standard deviations.
        linear: Shape (3, f): how a message ranks; also times the label's words, the chat's size.
        hidden: Shape (h, f): what the hidden units see of a message.
        hidden_chat: Shape (h, c + 1): and of the chat; the last is the constant.
        hidden_out: Shape (h,).
        posterior: How probable it is that a message is about the topic; the last is the constant.
    """

    null_labels: Matrix
    presence: Floats
    mean: Floats
    spread: Floats
    linear: Matrix
    hidden: Matrix
    hidden_chat: Matrix
    hidden_out: Floats
    posterior: Floats


@cache
def null_labels() -> tuple[str, ...]:
    """Labels of many subjects, to compare a topic's label with."""
    return lines_of(Path(__file__).with_name("null_labels.txt"))


def read_weights(path: Path = FILE) -> Weights:
    """The weights in a file that `write_weights` wrote."""
    with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as stored:
        values = {name: stored[name].astype(np.float32) for name in stored.files}
    return Weights(**{**values, "null_labels": unit(values["null_labels"])})


def write_weights(weights: Weights, path: Path) -> None:
    """Store them: vectors in 8 bits, the others in 32."""
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
