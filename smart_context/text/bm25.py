"""Lexical relevance: which documents use the words of a query, weighted by how rare they are."""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

SATURATION = 1.2
"""A word that is used over and over counts at most this much plus one times."""

_LENGTH_WEIGHT = 0.75


class Bm25:
    """Okapi BM25 over documents that are given as words; documents can be added, not removed."""

    def __init__(self, documents: Iterable[Sequence[str]] = ()) -> None:
        self._postings: dict[str, tuple[array[int], array[int]]] = {}
        self._lengths = array("I")
        for document in documents:
            self.add(document)

    def __len__(self) -> int:
        """How many documents there are."""
        return len(self._lengths)

    def add(self, document: Sequence[str]) -> None:
        """One more document, at the end; costs the same however many there are."""
        position = len(self._lengths)
        self._lengths.append(len(document))
        for word, count in Counter(document).items():
            found = self._postings.get(word)
            if found is None:
                found = self._postings[word] = (array("I"), array("I"))
            found[0].append(position)
            found[1].append(count)

    def scores(self, query_words: Iterable[str]) -> NDArray[np.float32]:
        """Shape (n,): how well each document answers the query; 0 where no word is shared.

        A word that is given twice counts once.
        """
        total = np.zeros(len(self), dtype=np.float32)
        if not len(self):
            return total
        lengths = np.frombuffer(self._lengths, dtype=np.uint32)
        average = float(lengths.mean()) or 1.0
        for word in dict.fromkeys(query_words):
            if found := self._postings.get(word):
                places = np.frombuffer(found[0], dtype=np.uint32)
                counts = np.frombuffer(found[1], dtype=np.uint32).astype(np.float32)
                penalty = 1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * lengths[places] / average
                gain = counts * (SATURATION + 1) / (counts + SATURATION * penalty)
                total[places] += (self.rarity(word) * gain).astype(np.float32)
        return total

    def rarity(self, word: str) -> float:
        """Inverse document frequency: the rarer, the higher; above 0 for every word."""
        found = self._postings.get(word)
        holding = len(found[0]) if found else 0
        return math.log(1 + (len(self) - holding + 0.5) / (holding + 0.5))
