"""Scales rows to length 1."""

import numpy as np

from smart_context.llm.models import Matrix


def at_unit_length(rows: Matrix) -> Matrix:
    """The rows scaled to length 1; a zero row stays zero."""
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)
