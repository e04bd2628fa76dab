"""The embedding models that ship with the package, chosen by the language of each text."""

import threading
from collections.abc import Sequence
from functools import cached_property, partial

import numpy as np

from smart_context.base.text.languages import language_of, without_language
from smart_context.llm.minilm.files import FOLDER, VOCABULARY, read_checked
from smart_context.llm.models import Matrix
from smart_context.llm.multilingual import files
from smart_context.llm.multilingual.choice import is_other_language
from smart_context.llm.multilingual.encoder import (
    E5_LANGUAGES,
    UniversalEncoder,
    into_english,
    load_e5,
)
from smart_context.llm.multilingual.files import MULTILINGUAL
from smart_context.llm.offline.embedded import EmbeddedEmbedder

NAME = f"{MULTILINGUAL}all-MiniLM-L6-v2"
_AT_ONCE = 64


class EveryLanguageEmbedder(EmbeddedEmbedder):
    """all-MiniLM-L6-v2 for English, two other models for the rest; satisfies `Embedder`.

    Vectors of all can be compared. The other models are loaded at the first text that needs them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._e5 = EmbeddedEmbedder(folder=files.FOLDER, loader=load_e5)
        self._universal = UniversalEncoder()
        self._encoding = threading.Lock()

    @property
    def name(self) -> str:
        """The name of all models together."""
        return NAME

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Shape (len(texts), 384), one unit-length row per text, in order.

        A label among texts of another language is read as one of these if `with_language` marks
        it. A text without a known word (empty, white space) gives a zero row.

        Raises:
            ModelFailed: If a model is missing or damaged, or the embedder is closed.
        """
        said = [without_language(text)[1] for text in texts]
        languages = await self._in_thread(partial(self._languages, texts))
        rows = np.zeros((len(texts), 384), np.float32)
        places = {
            kind: [place for place, code in enumerate(languages) if _kind(code) == kind]
            for kind in ("english", "e5", "universal")
        }
        if english := places["english"]:
            rows[english] = await super().embed([said[place] for place in english])
        if e5 := places["e5"]:
            vectors = await self._e5.embed([said[place] for place in e5])
            into = into_english(files.E5_INTO_ENGLISH)
            rows[e5] = into(vectors, [languages[place] for place in e5])
        others = places["universal"]
        for begin in range(0, len(others), _AT_ONCE):
            some = others[begin : begin + _AT_ONCE]
            rows[some] = await self._in_thread(
                partial(self._encode, [said[place] for place in some])
            )
        return rows

    async def aclose(self) -> None:
        """Stop the threads; unfinished calls fail at their next batch."""
        await super().aclose()
        await self._e5.aclose()

    def _encode(self, texts: Sequence[str]) -> Matrix:
        with self._encoding:
            return self._universal.encode(texts)

    def _languages(self, texts: Sequence[str]) -> list[str]:
        """The code of each text's language, as far as it decides on the model."""
        return [
            _language(text) if is_other_language(text, self._vocabulary) else "en" for text in texts
        ]

    @cached_property
    def _vocabulary(self) -> frozenset[str]:
        pieces = read_checked(FOLDER, VOCABULARY).decode().split("\n")
        return frozenset(piece for piece in pieces if piece.isalpha())


def _language(text: str) -> str:
    """The marked language, unless the text's script is another one; empty if unknown."""
    marked, said = without_language(text)
    return marked if marked and _is_latin(said) else language_of(said) or marked


def _is_latin(text: str) -> bool:
    return all(letter < "\u0250" for letter in text if letter.isalpha())


def _kind(language: str) -> str:
    if language == "en":
        return "english"
    return "e5" if language in E5_LANGUAGES else "universal"
