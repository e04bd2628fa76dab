"""The embedding models that ship with the package, chosen by the language of each text."""

import math
import re
import threading
import zlib
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import cache, cached_property, partial

import numpy as np
from numpy.typing import NDArray

from smart_context.base.text.languages import language_of, signs_of, without_language
from smart_context.llm.minilm.files import FOLDER, VOCABULARY, read_checked
from smart_context.llm.models import Matrix
from smart_context.llm.multilingual import files
from smart_context.llm.multilingual.encoder import (
    UniversalEncoder,
    into_english,
    load_e5,
)
from smart_context.llm.multilingual.files import HAS_UNIVERSAL, MULTILINGUAL, is_read_by_e5
from smart_context.llm.offline.embedded import EmbeddedEmbedder

_FILE = files.FOLDER / "foreign_words.npy"
_STEP = 16
_LENGTHS = (2, 3, 4, 5)
_WORD = re.compile(r"[^\W\d_]{3,}")
_ENGLISH_WORD = -1.0
_FOREIGN = 0.4
_FEW_SIGNS, _FEW_WORDS = 2, 6


def is_other_language(text: str, vocabulary: AbstractSet[str]) -> bool:
    """True if a text is in another language than English.

    Its script and its frequent words decide. Names and labels have no frequent words: the spelling
    of the words that the English model lacks decides there. Uncertain texts, such as `Postgres`,
    count as English.

    Args:
        text: Any text; one that `with_language` marked counts as in that language, unless it
            certainly is in English.
        vocabulary: The whole words that the English model has.
    """
    marked, text = without_language(text)
    language = language_of(text)
    if language == "en":
        return marked != "" and signs_of(text) < _FEW_SIGNS
    if marked:
        return True
    words = _WORD.findall(text.lower())[: _FEW_WORDS + 1]
    if language and (signs_of(text) >= _FEW_SIGNS or len(words) > _FEW_WORDS):
        return True
    if language:
        return not words or _foreignness(words, vocabulary) > _ENGLISH_WORD / 2
    return bool(words) and _foreignness(words, vocabulary) > _FOREIGN


def _foreignness(words: list[str], vocabulary: AbstractSet[str]) -> float:
    """The mean log odds that the words are foreign."""
    known = [_ENGLISH_WORD if word in vocabulary else foreign_odds(word) for word in words]
    return math.fsum(known) / len(known)


def foreign_odds(word: str) -> float:
    """The log odds, from its spelling, that a lower-cased word is not an English one."""
    weights = _weights()
    return float(weights[parts_of(word)].sum() + weights[-1]) / _STEP


def parts_of(word: str) -> list[int]:
    """The numbers, below 16,384, of the parts of two to five characters of a word."""
    marked = f"^{word}$"
    return [
        zlib.crc32(marked[begin : begin + length].encode("utf-8", "surrogatepass")) % (1 << 14)
        for length in _LENGTHS
        for begin in range(len(marked) - length + 1)
    ]


@cache
def _weights() -> NDArray[np.int32]:
    return np.asarray(np.load(_FILE, allow_pickle=False), dtype=np.int32)


NAME = f"{MULTILINGUAL}all-MiniLM-L6-v2"
_NAME_WITH_E5_ALONE = f"{MULTILINGUAL}e5/all-MiniLM-L6-v2"
_AT_ONCE = 64


class EveryLanguageEmbedder(EmbeddedEmbedder):
    """all-MiniLM-L6-v2 for English, two other models for the rest; satisfies `Embedder`.

    Vectors of all can be compared. The other models are loaded at the first text that needs them.

    Args:
        has_universal: False if the Universal Sentence Encoder is not installed. Then
            multilingual-e5-small reads its languages, too, though not as well.
    """

    def __init__(self, *, has_universal: bool = HAS_UNIVERSAL) -> None:
        super().__init__()
        self._has_universal = has_universal
        self._e5 = EmbeddedEmbedder(folder=files.FOLDER, loader=load_e5)
        self._universal = UniversalEncoder()
        self._encoding = threading.Lock()

    @property
    def name(self) -> str:
        """The name of all models together."""
        return NAME if self._has_universal else _NAME_WITH_E5_ALONE

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
            kind: [place for place, code in enumerate(languages) if self._kind(code) == kind]
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

    def _kind(self, language: str) -> str:
        if is_read_by_e5(language, has_universal=self._has_universal):
            return "e5"
        return "english" if language == "en" else "universal"

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
