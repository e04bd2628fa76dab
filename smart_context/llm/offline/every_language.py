"""The embedding models that ship with the package, chosen by the language of each text."""

from collections.abc import Sequence
from functools import cached_property, partial

import numpy as np

from smart_context.base.text.languages import language_of, without_language
from smart_context.llm.minilm.files import FOLDER, VOCABULARY, read_checked
from smart_context.llm.models import Matrix
from smart_context.llm.multilingual import files
from smart_context.llm.multilingual.choice import is_other_language
from smart_context.llm.multilingual.encoder import into_english, load_encoder
from smart_context.llm.multilingual.languages import MULTILINGUAL
from smart_context.llm.offline.embedded import EmbeddedEmbedder

NAME = f"{MULTILINGUAL}all-MiniLM-L6-v2"


class EveryLanguageEmbedder(EmbeddedEmbedder):
    """all-MiniLM-L6-v2 for English, multilingual-e5-small for the rest; satisfies `Embedder`.

    Vectors of both can be compared. The second model is loaded at the first text that needs it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._multilingual = EmbeddedEmbedder(folder=files.FOLDER, loader=load_encoder)

    @property
    def name(self) -> str:
        """The names of both models."""
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
        others = np.flatnonzero(is_other).tolist()
        if not others:
            return await super().embed(said)
        english = np.flatnonzero(~is_other).tolist()
        rows = np.zeros((len(texts), 384), np.float32)
        rows[english] = await super().embed([said[place] for place in english])
        vectors = await self._multilingual.embed([said[place] for place in others])
        rows[others] = into_english()(vectors, [_language(texts[place]) for place in others])
        return rows

    async def aclose(self) -> None:
        """Stop the threads; unfinished calls fail at their next batch."""
        await super().aclose()
        await self._multilingual.aclose()

    def _choices(self, texts: Sequence[str]) -> list[bool]:
        return [is_other_language(text, self._vocabulary) for text in texts]

    @cached_property
    def _vocabulary(self) -> frozenset[str]:
        pieces = read_checked(FOLDER, VOCABULARY).decode().split("\n")
        return frozenset(piece for piece in pieces if piece.isalpha())


def _language(text: str) -> str:
    marked, said = without_language(text)
    return marked or language_of(said)
