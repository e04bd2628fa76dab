"""Removes what all messages of a chat have in common."""

from smart_context.llm.models import Matrix
from smart_context.topics.clusters.unit_length import at_unit_length


def without_background(vectors: Matrix, limit: float) -> Matrix:
    """Subtract what the rows have in common until they differ enough; returns unit rows.

    In a chat about one field, or in a language that the model hardly knows, all messages are
    similar; what remains then sets them apart.

    Args:
        vectors: Shape (n, d), unit rows.
        limit: Rows with at most this mean cosine are returned unchanged.
    """
    mean = vectors.mean(axis=0)
    if _alikeness(vectors) <= limit:
        return vectors
    low, high = 0.0, 1.0
    for _ in range(12):
        middle = (low + high) / 2
        if _alikeness(at_unit_length(vectors - middle * mean)) > limit:
            low = middle
        else:
            high = middle
    return at_unit_length(vectors - low * mean)


def _alikeness(rows: Matrix) -> float:
    """The mean cosine of two different rows."""
    count = len(rows)
    total = rows.sum(axis=0)
    return (float(total @ total) - count) / max(1, count * (count - 1))
