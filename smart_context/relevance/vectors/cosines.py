"""Exact cosine similarities by blocked matrix products."""

import numpy as np
from numpy.typing import ArrayLike

from smart_context.llm.models import Matrix

_BLOCK_ROWS = 512
_FEW_QUERIES = 4
"""Up to this many queries, one product for each is faster than one for all."""

_UNIT_TOLERANCE = 1e-5


def unit(vectors: ArrayLike) -> Matrix:
    """The rows scaled to length 1, as float32; zero and non-finite rows become zero rows.

    A row that already has length 1 (to 1e-5) is returned bit for bit.

    Args:
        vectors: Shape (n, d), or (d,) for a single one.
    """
    matrix = np.array(vectors, dtype=np.float32, copy=None, ndmin=1)
    if matrix.size == 0:
        return matrix
    rows = matrix.reshape(-1, matrix.shape[-1])
    squares = np.einsum("ij,ij->i", rows, rows)
    odd = ~(np.abs(squares - 1) <= _UNIT_TOLERANCE)
    if not odd.any():
        return matrix
    rows = rows.copy()
    rows[odd] = _scaled(rows[odd])
    return rows.reshape(matrix.shape)


def similarities(queries: Matrix, matrix: Matrix) -> Matrix:
    """Shape (k, n): the dot product of each of k queries with each of n rows; exact, no index.

    With unit rows these are cosines; a zero row gives 0. The rows are read once, in blocks that
    stay in the processor's cache.
    """
    result = np.empty((len(queries), len(matrix)), dtype=np.float32)
    if not result.size:
        return result
    columns = np.ascontiguousarray(queries.T)
    for start in range(0, len(matrix), _BLOCK_ROWS):
        block = matrix[start : start + _BLOCK_ROWS]
        if len(queries) > _FEW_QUERIES:
            result[:, start : start + _BLOCK_ROWS] = (block @ columns).T
            continue
        for row, query in zip(result, queries, strict=True):
            row[start : start + _BLOCK_ROWS] = block @ query
    return result


def _scaled(rows: Matrix) -> Matrix:
    finite = np.isfinite(rows).all(axis=1, keepdims=True)
    wide = np.where(finite, rows, 0).astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    return (wide / np.where(lengths > 0, lengths, 1)).astype(np.float32)
