"""The user's scale of similarity: 0.4 means "probably about it", whatever the embedding model.

Cosines have different ranges in different models: a label and a message about it may have 0.2 in
one and 0.7 in another. A `Scale` maps cosines to the scores that the user sees and sets.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from smart_context.llm.models import Matrix

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
