"""The layers of the multilingual model, from weights of four bits."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smart_context.llm.minilm.tensors import SCALE, Tensors
from smart_context.llm.minilm.transformer import (
    DIMENSION,
    Affine,
    Encoder,
    Floats,
    Layer,
    Norm,
    joined,
)

BLOCK = 32
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


def e5_encoder(tensors: Tensors) -> Encoder:
    """The model of these weights."""
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
