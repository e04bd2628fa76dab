"""multilingual-e5-small, mapped into the space of all-MiniLM-L6-v2.

The model places texts of one language close together, whatever they are about: what is typical of a
language is taken off first. A linear map then turns the vectors into those of the English model, so
that a German question finds an English answer. `python -m tests.benchmarks.fit_multilingual` writes
both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from smart_context.base.errors import ModelFailed
from smart_context.llm.minilm.files import read_checked
from smart_context.llm.minilm.tensors import from_bytes
from smart_context.llm.minilm.transformer import Floats
from smart_context.llm.models import Matrix, unit_rows
from smart_context.llm.multilingual import files
from smart_context.llm.multilingual.transformer import E5
from smart_context.llm.multilingual.unigram import Unigram

BIAS = 0.3
"""The last number of each vector before the map."""

PREFIX = "query: "
"""What the model was trained to read before a text that is compared with others of its kind."""

OTHER = "other"
"""The key of what is typical of languages on average."""


_PARTS = ("usual", "weights", "centre", "spread", "english")


def load_encoder(folder: Path = files.FOLDER) -> tuple[Unigram, E5]:
    """The tokenizer and the model; takes about 0.2 s and 150 MB.

    Raises:
        ModelFailed: If a data file is missing or damaged.
    """
    pieces = read_checked(folder, files.VOCABULARY, files.DIGESTS).decode().split("\n")[:-1]
    tensors = from_bytes(read_checked(folder, files.WEIGHTS, files.DIGESTS))
    return Unigram(pieces, tensors["scores"].tolist(), prefix=PREFIX), E5.restored(tensors)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IntoEnglish:
    """Maps vectors of the multilingual model to those of the English one.

    Attributes:
        usual: Shape (384,), the mean vector of English texts.
        typical: Of each language, by its ISO 639-1 code, its mean less that of the same texts in
            English; also of `OTHER` languages.
        weights: Shape (385, 384), the linear map.
        centre: Shape (384,), the mean of what the map makes of English texts.
        spread: Shape (384, 384), brings their covariance half way to that of the English model,
            so that cosines of both mean about the same.
        english: Shape (384,), the mean vector of the English model.
    """

    usual: Floats
    typical: dict[str, Floats]
    weights: Matrix
    centre: Floats
    spread: Matrix
    english: Floats

    def __call__(self, vectors: Matrix, languages: Sequence[str]) -> Matrix:
        """Shape (n, 384), unit rows; a zero row stays zero.

        Args:
            vectors: Shape (n, 384), unit rows of the multilingual model.
            languages: The code of each text's language; empty if unknown.
        """
        if not len(vectors):
            return vectors
        rest = self.typical[OTHER]
        typical = np.stack([self.typical.get(code, rest) for code in languages])
        mapped = unit_rows(with_bias(vectors - self.usual - typical) @ self.weights)
        spread = np.asarray((mapped - self.centre) @ self.spread + self.english, np.float32)
        mapped = unit_rows(spread)
        return np.where(vectors.any(axis=1, keepdims=True), mapped, np.float32(0))


def with_bias(centred: Matrix) -> Matrix:
    """Shape (n, 385): unit rows, and one more number, the same in each."""
    return np.hstack([unit_rows(centred), np.full((len(centred), 1), BIAS, np.float32)])


@cache
def into_english() -> IntoEnglish:
    """The map that ships with the package.

    Raises:
        ModelFailed: If its file is missing or damaged.
    """
    path = files.FOLDER / files.INTO_ENGLISH
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name].astype(np.float32) for name in stored.files}
        parts = {name: arrays.pop(name) for name in _PARTS}
    except (OSError, ValueError, KeyError) as error:
        raise ModelFailed(
            "The built-in embedding model for other languages can't be loaded:"
            f" {error}. Reinstall the package (pip install --force-reinstall"
            " smart-context), or set an embedding model in the [llm.categories] table of"
            " .vault.toml."
        ) from error
    return IntoEnglish(**parts, typical=arrays)
