"""The subjects of themes in a word or two, for themes that nothing in the chats names."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from smart_context.llm.models import Matrix
from smart_context.topics.clusters.units import at_unit_length

SUBJECTS = (
    *("Travel", "Food", "Gardening", "Home", "Shopping", "Fashion", "Cars", "Energy"),
    *("Programming", "Databases", "Artificial intelligence", "Internet", "Hardware", "Security"),
    *("Mathematics", "Physics", "Chemistry", "Biology", "Astronomy", "Engineering", "Geography"),
    *("Nature", "Animals", "Weather", "Health", "Medicine", "Sports", "Psychology"),
    *("Family", "Relationships", "Education", "Languages", "Careers", "Business", "Marketing"),
    *("Money", "Taxes", "Law", "Politics", "History", "Philosophy", "Religion"),
    *("Writing", "Books", "Films", "Music", "Art", "Design", "Photography", "Games"),
)
"""Subjects that people chat about, in words short enough for a map."""

_LEAST = 0.22
"""The least cosine of a theme and its subject. The demonstration's themes with one have .25 to
.43; a theme without one has at most .17."""


@dataclass(frozen=True, slots=True, eq=False)
class Subjects:
    """Subjects that themes may be named by, with their embeddings."""

    names: Sequence[str]
    rows: Matrix  # shape (len(names), d): unit rows

    def of(self, vectors: Sequence[Matrix]) -> str:
        """The subject closest to the mean of these directions; empty if none is close.

        Args:
            vectors: The mean direction of each topic; those of another width are ignored.
        """
        known = [vector for vector in vectors if len(vector) == self.rows.shape[1]]
        if not known:
            return ""
        likeness = self.rows @ at_unit_length(np.mean(known, axis=0))
        best = int(likeness.argmax())
        return self.names[best] if likeness[best] >= _LEAST else ""


NO_SUBJECTS = Subjects((), np.zeros((0, 0), dtype=np.float32))
"""No subjects, for use without an embedding model."""
