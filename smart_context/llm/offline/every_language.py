"""The embedding models that ship with the package, chosen by the language of each text."""

import threading
from collections.abc import Sequence
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from smart_context.base.text.languages import without_language
from smart_context.llm.minilm import files
from smart_context.llm.models import Matrix
from smart_context.llm.multilingual.choice import is_other_language
from smart_context.llm.multilingual.encoder import MultilingualEncoder
from smart_context.llm.offline.embedded import EmbeddedEmbedder

NAME = "embedded/multilingual/all-MiniLM-L6-v2"
_AT_ONCE = 64


class EveryLanguageEmbedder(EmbeddedEmbedder):
    """all-MiniLM-L6-v2 for English, a multilingual encoder for the rest; satisfies `Embedder`.

    Vectors of both can be compared. The second model is loaded at the first text that needs it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._multilingual = MultilingualEncoder()
        self._encoding = threading.Lock()

    @property
    def name(self) -> str:
        """`embedded/multilingual/all-MiniLM-L6-v2`."""
        return NAME

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Shape (len(texts), 384), one unit-length row per text, in order.

        A label among texts of another language is read as one of these if `with_language` marks
        it. A text without a known word (empty, white space) gives a zero row.

        Raises:
            ModelFailed: If a model is missing or damaged, or the embedder is closed.
        """
        said = [without_language(text)[1] for text in texts]
        is_other = np.array(await self._in_thread(partial(self._choices, texts)), dtype=np.bool_)
        others = np.flatnonzero(is_other)
        if not len(others):
            return await super().embed(said)
        english = np.flatnonzero(~is_other)
        rows = np.zeros((len(texts), 384), np.float32)
        rows[english] = await super().embed([said[place] for place in english])
        for begin in range(0, len(others), _AT_ONCE):
            some = others[begin : begin + _AT_ONCE]
            rows[some] = await self._in_thread(partial(self._encode, said, some))
        return rows

    def _encode(self, texts: Sequence[str], places: NDArray[np.intp]) -> Matrix:
        with self._encoding:
            return self._multilingual.encode([texts[place] for place in places])

    def _choices(self, texts: Sequence[str]) -> list[bool]:
        return [is_other_language(text, self._vocabulary) for text in texts]

    @cached_property
    def _vocabulary(self) -> frozenset[str]:
        pieces = files.read_checked(files.FOLDER, files.VOCABULARY).decode().split("\n")
        return frozenset(piece for piece in pieces if piece.isalpha())
