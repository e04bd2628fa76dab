"""What themes are about in a word or two, where nothing that was said names them."""

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
"""What people chat about, in words that say it on a map."""

_LEAST = 0.22
"""The least cosine of a theme and its subject. Of the demonstration's themes, those that are about
one have .25 to .43; the nearest of one that is about none has .17."""


@dataclass(frozen=True, slots=True, eq=False)
class Subjects:
    """Subjects that themes may be named by, with what the embedding model makes of them."""

    names: Sequence[str]
    rows: Matrix  # shape (len(names), d): unit rows

    def of(self, vectors: Sequence[Matrix]) -> str:
        """The subject of topics by their directions; empty if none is near.

        Args:
            vectors: The mean direction of each topic; one of another width is not known.
        """
        known = [vector for vector in vectors if len(vector) == self.rows.shape[1]]
        if not known:
            return ""
        likeness = self.rows @ at_unit_length(np.mean(known, axis=0))
        best = int(likeness.argmax())
        return self.names[best] if likeness[best] >= _LEAST else ""


NO_SUBJECTS = Subjects((), np.zeros((0, 0), dtype=np.float32))
"""Where there is no embedding model."""
