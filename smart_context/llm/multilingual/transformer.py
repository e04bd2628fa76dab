"""The forward pass of multilingual-e5-small: BERT with 12 layers, weights of four bits."""

from dataclasses import dataclass
from typing import Self

import numpy as np

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
from smart_context.llm.multilingual.four_bits import FourBits

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
