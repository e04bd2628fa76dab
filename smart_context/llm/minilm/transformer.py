"""The forward pass: from ids of word pieces to one unit vector per text.

BERT with 6 layers of 12 heads and the mean of the last layer's rows, like the original. Two
shortcuts change no measurable score: gelu uses tanh instead of erf, and the attention's 1/sqrt(32)
is multiplied into the query weights on loading.
"""

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from smart_context.llm.minilm.tensors import SCALE, Tensors, restored

DIMENSION = 384
LONGEST = 256
"""The longest text that the model was trained on, in tokens, with the opening and closing one."""

LAYERS = 6
HEADS = 12
HEAD_WIDTH = DIMENSION // HEADS
_NEAR_ZERO = np.float32(1e-12)
_FAR_BELOW = np.float32(-1e9)

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Affine:
    """`rows @ weight + bias`."""

    weight: Floats
    bias: Floats

    def __call__(self, rows: Floats) -> Floats:
        """Shape (n, in) to (n, out)."""
        product: Floats = rows @ self.weight
        product += self.bias
        return product

    @classmethod
    def named(cls, tensors: Tensors, name: str) -> Self:
        """The layer of that name; stored as (out, in), used as (in, out)."""
        return cls(restored(tensors, f"{name}.weight").T, restored(tensors, f"{name}.bias"))


@dataclass(frozen=True, slots=True)
class Norm:
    """Layer normalisation."""

    gain: Floats
    shift: Floats

    def __call__(self, rows: Floats) -> Floats:
        """Normalise each row to mean 0 and variance 1, then scale and shift it."""
        centred: Floats = rows - rows.mean(axis=-1, keepdims=True)
        variance = np.einsum("...i,...i->...", centred, centred)[..., None] / np.float32(DIMENSION)
        centred /= np.sqrt(variance + _NEAR_ZERO)
        centred *= self.gain
        centred += self.shift
        return centred

    @classmethod
    def named(cls, tensors: Tensors, name: str) -> Self:
        """The normalisation of that name."""
        return cls(restored(tensors, f"{name}.weight"), restored(tensors, f"{name}.bias"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One of the six; `query_key_value` does three products at once."""

    query_key_value: Affine
    attended: Affine
    attended_norm: Norm
    widen: Affine
    narrow: Affine
    norm: Norm

    def __call__(self, rows: Floats, shape: tuple[int, int], bias: Floats | None) -> Floats:
        """Shape (n * longest, 384) to the same.

        Args:
            rows: One row per token, the texts one after another.
            shape: `(n, longest)`.
            bias: Shape (n, 1, 1, longest), far below zero at padding; `None` without padding.
        """
        rows = self.attended_norm(rows + self.attended(self._attend(rows, shape, bias)))
        return self.norm(rows + self.narrow(gelu(self.widen(rows))))

    def _attend(self, rows: Floats, shape: tuple[int, int], bias: Floats | None) -> Floats:
        heads = self.query_key_value(rows).reshape(*shape, 3, HEADS, HEAD_WIDTH)
        query, key, value = heads.transpose(2, 0, 3, 1, 4)
        weights = query @ key.swapaxes(-1, -2)
        if bias is not None:
            weights += bias
        weights -= weights.max(axis=-1, keepdims=True)
        np.exp(weights, out=weights)
        weights /= weights.sum(axis=-1, keepdims=True)
        attended: Floats = (weights @ value).transpose(0, 2, 1, 3).reshape(-1, DIMENSION)
        return attended


def gelu(rows: Floats) -> Floats:
    """Gelu in its tanh form; `rows` is not changed."""
    inner = rows * rows
    inner *= np.float32(0.7978845608 * 0.044715)
    inner += np.float32(0.7978845608)
    inner *= rows
    np.tanh(inner, out=inner)
    inner += np.float32(1)
    inner *= rows
    inner *= np.float32(0.5)
    return inner


class WordEmbeddings(Protocol):
    """The embeddings of word pieces, the largest part of a model; they stay packed."""

    def rows(self, places: Ids) -> Floats:
        """Shape (*places.shape, 384): the rows at these places, restored."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Int8:
    stored: NDArray[np.int8]
    scales: Floats

    def rows(self, places: Ids) -> Floats:
        """The rows at these places."""
        rows = self.stored[places].astype(np.float32)
        rows *= self.scales[places]
        return rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Encoder:
    """A model; calling it is a pure function of its arguments, from any thread."""

    words: WordEmbeddings
    positions: Floats
    norm: Norm
    layers: tuple[Layer, ...]

    def __call__(self, ids: Ids, lengths: Ids) -> Floats:
        """Shape (n, 384): a unit vector for each row of `ids`, the mean of its tokens.

        Args:
            ids: Shape (n, longest), with opening and closing tokens and any padding.
            lengths: Shape (n,), each at least 1: the number of ids of each row, without padding.
        """
        count, longest = ids.shape
        rows = self.words.rows(ids)
        rows += self.positions[:longest]
        rows = self.norm(rows.reshape(-1, DIMENSION))
        counts = np.arange(longest) < lengths[:, None]
        bias = None
        if not counts.all():
            bias = np.where(counts, np.float32(0), _FAR_BELOW)[:, None, None, :]
        for layer in self.layers:
            rows = layer(rows, (count, longest), bias)
        rows = rows.reshape(count, longest, DIMENSION)
        sums: Floats = np.einsum("nld,nl->nd", rows, counts.astype(np.float32))
        sums /= np.linalg.norm(sums, axis=1, keepdims=True)
        return sums


def minilm(tensors: Tensors) -> Encoder:
    """The model from its converted tensors."""
    words = "embeddings.word_embeddings.weight"
    kinds = restored(tensors, "embeddings.token_type_embeddings.weight")
    return Encoder(
        words=_Int8(stored=tensors[words].copy(), scales=tensors[words + SCALE].copy()),
        positions=restored(tensors, "embeddings.position_embeddings.weight") + kinds[0],
        norm=Norm.named(tensors, "embeddings.LayerNorm"),
        layers=tuple(_layer(tensors, f"encoder.layer.{number}") for number in range(LAYERS)),
    )


def _layer(tensors: Tensors, name: str) -> Layer:
    return Layer(
        query_key_value=_query_key_value(tensors, f"{name}.attention.self"),
        attended=Affine.named(tensors, f"{name}.attention.output.dense"),
        attended_norm=Norm.named(tensors, f"{name}.attention.output.LayerNorm"),
        widen=Affine.named(tensors, f"{name}.intermediate.dense"),
        narrow=Affine.named(tensors, f"{name}.output.dense"),
        norm=Norm.named(tensors, f"{name}.output.LayerNorm"),
    )


def _query_key_value(tensors: Tensors, name: str) -> Affine:
    parts = (Affine.named(tensors, f"{name}.{part}") for part in ("query", "key", "value"))
    return joined(*parts)


def joined(query: Affine, key: Affine, value: Affine) -> Affine:
    """Three products as one, with the attention's scale in the first."""
    shrink = np.float32(HEAD_WIDTH**-0.5)
    return Affine(
        np.concatenate([query.weight * shrink, key.weight, value.weight], axis=1),
        np.concatenate([query.bias * shrink, key.bias, value.bias]),
    )
