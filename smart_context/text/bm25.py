"""Lexical relevance: which documents use the words of a query, weighted by how rare they are."""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

MOST_GAIN = 2.2
"""What a word that is used over and over gives at most, times its rarity."""

_SATURATION = MOST_GAIN - 1
_LENGTH_WEIGHT = 0.75


def rarity(holding: int, total: int) -> float:
    """How telling a word is that `holding` of `total` documents have; always above 0."""
    return math.log(1 + (total - holding + 0.5) / (holding + 0.5))


def gains(counts: Floats, lengths: Floats, average: float) -> Floats:
    """What a word gives to each document that has it, before its rarity; up to `MOST_GAIN`.

    Args:
        counts: How often each document has the word.
        lengths: The same documents' lengths.
        average: The mean length of all documents.
    """
    penalty = 1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * lengths / (average or 1.0)
    return np.asarray(counts * MOST_GAIN / (counts + _SATURATION * penalty), dtype=np.float32)


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

    def scores(self, query_words: Iterable[str]) -> Floats:
        """Shape (n,): how well each document answers the query; 0 where no word is shared.

        A word that is given twice counts once.
        """
        total = np.zeros(len(self), dtype=np.float32)
        lengths = np.array(self._lengths, dtype=np.float32)
        for word in dict.fromkeys(query_words):
            if found := self._postings.get(word):
                places = np.array(found[0], dtype=np.intp)
                counts = np.array(found[1], dtype=np.float32)
                weight = np.float32(rarity(len(places), len(self)))
                total[places] += weight * gains(counts, lengths[places], float(lengths.mean()))
        return total

    def shares(self, query_words: Iterable[str]) -> Floats:
        """Shape (n,): how much of the query each document has, from 0 to 1; rare words weigh more.

        How often a document has a word does not count, nor does its length.
        """
        wanted = list(dict.fromkeys(query_words))
        found = np.zeros(len(self), dtype=np.float32)
        most = 0.0
        for word in wanted:
            places = self._postings[word][0] if word in self._postings else ()
            weight = rarity(len(places), len(self))
            most += weight
            found[np.array(places, dtype=np.intp)] += np.float32(weight)
        return found / np.float32(most or 1.0)
