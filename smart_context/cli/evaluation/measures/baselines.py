"""The recall of simple methods with as many tokens as the filter keeps."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smart_context.base.text.bm25 import Bm25
from smart_context.base.text.words import words
from smart_context.llm.models import Matrix

Floats = NDArray[np.float32]
_NEIGHBOUR = np.float32(0.5)


@dataclass(frozen=True, kw_only=True, eq=False)
class Baselines:
    """The messages of a dialogue, ready to be ranked.

    Attributes:
        vectors: Shape (n, d), unit rows.
        tokens: Shape (n,).
    """

    vectors: Matrix
    tokens: NDArray[np.intp]
    index: Bm25

    @classmethod
    def of(cls, texts: Sequence[str], vectors: Matrix, tokens: Sequence[int]) -> "Baselines":
        """The baselines of messages with these texts, vectors and token counts."""
        return cls(vectors=vectors, tokens=np.array(tokens), index=Bm25(map(words, texts)))

    def recalls(
        self, text: str, query: Floats, evidence: Sequence[int], budget: int
    ) -> Mapping[str, float]:
        """For each method, the share of the evidence in its best messages within the budget.

        Args:
            text: The query.
            query: Its vector.
            evidence: Positions of the evidence.
        """
        close = np.asarray(self.vectors @ query, dtype=np.float32)
        lexical = self.index.scores(words(text))
        found: dict[str, float] = {}
        for name, score in _WAYS.items():
            order = np.argsort(-score(close, lexical), kind="stable")
            kept = order[np.cumsum(self.tokens[order]) <= budget]
            found[name] = float(np.isin(list(evidence), kept).mean())
        return found


def _standard(values: Floats) -> Floats:
    return np.asarray((values - values.mean()) / (values.std() + 1e-6), dtype=np.float32)


def _with_neighbours(values: Floats) -> Floats:
    mixed = values.copy()
    mixed[1:] += _NEIGHBOUR * values[:-1]
    mixed[:-1] += _NEIGHBOUR * values[1:]
    return mixed


_WAYS: Mapping[str, Callable[[Floats, Floats], Floats]] = {
    "newest": lambda close, _: np.arange(len(close), dtype=np.float32),
    "bm25": lambda _, lexical: lexical,
    "cosine": lambda close, _: close,
    "both": lambda close, lexical: _with_neighbours(_standard(close) + _standard(lexical)),
}
