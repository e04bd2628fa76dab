"""The user's scale of similarity: 0.4 means "probably about it", whatever the embedding model.

Cosines have different ranges in different models: a label and a message about it may have 0.2 in
one and 0.7 in another. A `Scale` maps cosines to the scores that the user sees and sets. A cut is
the probability from which messages are kept, for a chat as a whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from smart_context.llm.models import Matrix
from smart_context.relevance.evidence.background import Floats

PROBABLY = 0.4
"""The user's score of a message that is probably about the topic."""

DEFAULT_THRESHOLD = PROBABLY
"""The score from which messages are kept where the user sets no other; a score equal to it is kept.

`plugin.toml` and `starter.toml` repeat it for users, which tests/plugin/test_settings.py checks.
"""

MENTIONED = 0.4
"""The probability from which a chat counts as mentioning a topic at all."""

_LITTLE, _SURELY = 0.1, 0.85
_FEWEST_SAMPLES = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A rising map from raw evidence to the user's scale, both within [-1, 1].

    Raises:
        ValueError: If they are not -1 < unrelated < probable < sure < 1.
    """

    unrelated: float  # the value of a message that is not about the topic; becomes 0.1
    probable: float  # from this value on, a message is probably about the topic; becomes 0.4
    sure: float  # the value of a message that is plainly about the topic; becomes 0.85

    def __post_init__(self) -> None:
        if not -1 < self.unrelated < self.probable < self.sure < 1:
            raise ValueError(f"a scale must rise from above -1 to below 1: {self}")

    def to_user(self, raw: Matrix) -> Matrix:
        """The same shape on the user's scale; order is kept."""
        known = (-1.0, self.unrelated, self.probable, self.sure, 1.0)
        return np.interp(raw, known, (-1.0, _LITTLE, PROBABLY, _SURELY, 1.0)).astype(np.float32)

    def as_embedded(self, cosines: Matrix) -> Matrix:
        """The cosines on the scale of the embedded model."""
        own = (-1.0, self.unrelated, self.probable, self.sure, 1.0)
        known = (-1.0, MINILM.unrelated, MINILM.probable, MINILM.sure, 1.0)
        return np.interp(cosines, own, known).astype(np.float32)


MINILM = Scale(unrelated=0.02, probable=0.17, sure=0.45)
"""all-MiniLM-L6-v2."""

SCALES = {"all-minilm-l6-v2": MINILM, "all-minilm": MINILM, "all-minilm:l6-v2": MINILM}
"""By the embedder's name in lower case, without the part before its last slash."""


def estimated_scale(background: ArrayLike) -> Scale:
    """A first estimate for a model without a calibration.

    Args:
        background: Cosines of labels with random messages, nearly all unrelated.
    """
    values = np.asarray(background, dtype=np.float64).ravel()
    values = values[np.isfinite(values)]
    if len(values) < _FEWEST_SAMPLES:
        return MINILM
    middle, high = np.quantile(values, [0.5, 0.96])
    unrelated = min(float(middle), 0.9)
    step = min(max(float(high) - unrelated, 0.03), (0.99 - unrelated) / 3)
    return Scale(unrelated=unrelated, probable=unrelated + step, sure=unrelated + 2.8 * step)


def known_scale(model: str) -> Scale | None:
    """The scale of a model by its name; `None` if it is not known."""
    return SCALES.get(model.lower().rsplit("/", 1)[-1])


def scale_for(model: str, background: ArrayLike = ()) -> Scale:
    """The scale of a model by its name, else an estimate from the background."""
    known = known_scale(model)
    return known if known is not None else estimated_scale(background)


_LEAST_SHARE = 0.25
_FLOOR, _FLOOR_FROM = 0.6, 0.5


def cut_of(likely: Floats, threshold: float, sure: float = 1.0) -> float:
    """The probability from which messages are kept; it rises with the threshold.

    At 0.4, a message is kept if it is at least a quarter as likely as the chat's messages on
    average: of all rules with the same tokens, this one finds most of the evidence. Messages that
    are far less likely than a certain best one are left out. Above 0.4, the likeliest are kept
    until they hold the wanted share of the sum: half of it at 0.7, only the best at 1.

    Args:
        likely: Shape (n,), the messages' probabilities; not empty.
        threshold: The user's, at most 1; from 0 downwards all are kept.
        sure: The probability that any message is about the topic, above 0. It is a factor of all
            others, so it does not change which messages are kept.
    """
    if threshold <= 0:
        return threshold
    best = float(likely.max())
    floor = _FLOOR * max(0.0, best - _FLOOR_FROM * sure)
    usual = max(_LEAST_SHARE * float(likely.mean()), floor)
    if threshold <= PROBABLY:
        return usual * (threshold / PROBABLY) ** 2
    return max(usual, holding(likely, _wanted(threshold)))


def holding(likely: Floats, share: float) -> float:
    """The largest probability such that the messages from it on hold that share of the sum."""
    order = np.sort(likely)[::-1]
    sums = np.cumsum(order, dtype=np.float64)
    return float(order[min(int(np.searchsorted(sums, share * sums[-1])), len(order) - 1)])


def members_cut(likely: Sequence[float] | Floats, threshold: float) -> float:
    """The probability from which a found topic's own messages are kept: all of them up to 0.4."""
    if threshold <= PROBABLY or not len(likely):
        return 0.0
    return holding(np.asarray(likely), _wanted(threshold))


def _wanted(threshold: float) -> float:
    """The share of the expected messages that a threshold above 0.4 keeps."""
    return 1 - (threshold - PROBABLY) / (1 - PROBABLY)
