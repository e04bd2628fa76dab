"""The forward pass of multilingual-e5-small: BERT with 12 layers, weights of four bits.

A matrix has one scale for 32 of its weights (the layout `Q4_0`).
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from smart_context.llm.minilm.tensors import SCALE, Tensors
from smart_context.llm.minilm.transformer import (
    DIMENSION,
    Affine,
    Floats,
    Ids,
    Layer,
    Norm,
    joined,
    pooled,
)

BLOCK = 32
_HALF = BLOCK // 2
_ZERO = np.float32(8)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FourBits:
    """A matrix of n rows and m columns."""

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

    @classmethod
    def from_blocks(cls, content: bytes, columns: int) -> "FourBits":
        """A matrix from its blocks: two bytes of scale, then 16 of weights."""
        blocks = np.frombuffer(content, dtype=[("scale", "<f2"), ("packed", "u1", (_HALF,))])
        blocks = blocks.reshape(-1, columns // BLOCK)
        return cls(packed=blocks["packed"].copy(), scales=blocks["scale"].copy())


LAYERS = 12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class E5:
    """The model; calling it is a pure function of its arguments, from any thread.

    The word embeddings, two thirds of the model, stay packed and are restored when used.
    """

    words: FourBits
    positions: Floats
    norm: Norm
    layers: tuple[Layer, ...]

    def __call__(self, ids: Ids, lengths: Ids) -> Floats:
        """Shape (n, 384): a unit vector for each row of `ids`.

        Args:
            ids: Shape (n, longest), with opening and closing tokens and any padding.
            lengths: Shape (n,), each at least 1: the number of ids of each row, without padding.
        """
        rows = self.words.rows(ids)
        rows += self.positions[: ids.shape[1]]
        rows = self.norm(rows.reshape(-1, DIMENSION))
        return pooled(rows, self.layers, ids.shape[1], lengths)

    @classmethod
    def restored(cls, tensors: Tensors) -> Self:
        """The model from the tensors that `convert` wrote."""
        positions = tensors["emb.pos"].reshape(-1, DIMENSION)
        return cls(
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
