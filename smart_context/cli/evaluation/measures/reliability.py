"""How true scores are as probabilities: what they predict, beside what is observed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smart_context.cli.evaluation.measures.measures import Sample

BINS = 10


@dataclass(frozen=True, kw_only=True, eq=False)
class Reliability:
    """A calibration curve of `BINS` bins of equal width.

    Attributes:
        counts: The number of messages in each bin.
        predicted: The mean of their probabilities; 0 for an empty bin.
        observed: The share of them that belong to the topic; 0 for an empty bin.
    """

    counts: NDArray[np.intp]
    predicted: NDArray[np.float64]
    observed: NDArray[np.float64]

    @property
    def error(self) -> float:
        """The expected calibration error: the mean difference over all messages."""
        return self._error(self.counts)

    @property
    def error_above(self) -> float:
        """The same without the first bin, which holds nearly all messages of a long chat."""
        counts = self.counts.copy()
        counts[0] = 0
        return self._error(counts)

    def _error(self, counts: NDArray[np.intp]) -> float:
        off = np.abs(self.predicted - self.observed)
        return float((off * counts).sum() / max(int(counts.sum()), 1))


def reliability_of(samples: Sequence[Sample]) -> Reliability | None:
    """The curve of all messages of these samples; `None` if no scores are probabilities."""
    used = [sample for sample in samples if sample.are_probabilities and len(sample.scores)]
    if not used:
        return None
    scores = np.concatenate([sample.scores for sample in used]).astype(np.float64)
    belongs = np.concatenate([sample.belongs for sample in used]).astype(np.float64)
    bins = np.clip((scores * BINS).astype(np.intp), 0, BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    some = np.maximum(counts, 1)
    return Reliability(
        counts=counts,
        predicted=np.bincount(bins, scores, BINS) / some,
        observed=np.bincount(bins, belongs, BINS) / some,
    )
