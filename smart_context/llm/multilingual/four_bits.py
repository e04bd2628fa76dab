"""Matrices of four bits a weight, with one scale for 32 of them (the layout `Q4_0`)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK = 32
_HALF = BLOCK // 2
_ZERO = np.float32(8)

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FourBits:
    """A matrix of n rows and m columns.

    Attributes:
        packed: Shape (n, m / 32, 16): of each block, the first 16 weights in the lower halves of
            the bytes, the others in the upper halves.
        scales: Shape (n, m / 32).
    """

    packed: NDArray[np.uint8]
    scales: NDArray[np.float16]

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
