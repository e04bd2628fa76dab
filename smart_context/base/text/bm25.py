"""Lexical relevance: documents with the words of a query, rare words first."""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Numbers = NDArray[np.uint32]

MOST_GAIN = 2.2
"""The most that a word adds to a score, however often it occurs; its rarity multiplies that."""

_SATURATION = MOST_GAIN - 1
_LENGTH_WEIGHT = 0.75


def rarity(holding: int, total: int) -> float:
    """The weight of a word that `holding` of `total` documents have; always above 0."""
    return math.log(1 + (total - holding + 0.5) / (holding + 0.5))


def gains(counts: Floats, lengths: Floats, average: float) -> Floats:
    """The score that a word adds to each document with it, not yet multiplied by its rarity.

    Args:
        counts: The occurrences of the word in each document.
        average: The mean length of all documents.
    """
    penalty = 1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * lengths / (average or 1.0)
    return np.asarray(counts * MOST_GAIN / (counts + _SATURATION * penalty), dtype=np.float32)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Postings:
    """The documents of each word, as arrays that can be kept on disk."""

    words: Sequence[str]
    ends: Numbers  # for each word, the end of its postings in `positions` and `counts`
    positions: Numbers  # the documents that have the word, by their positions
    counts: Numbers  # the occurrences of the word in each
    lengths: Numbers  # the number of words of each document


_NONE = np.zeros(0, dtype=np.uint32)
_NO_POSTINGS = Postings(words=(), ends=_NONE, positions=_NONE, counts=_NONE, lengths=_NONE)


class Bm25:
    """Okapi BM25 over documents given as words; documents can be added, not removed.

    Args:
        base: Documents indexed earlier; their positions come first.
    """

    def __init__(
        self, documents: Iterable[Sequence[str]] = (), *, base: Postings | None = None
    ) -> None:
        self._base = base or _NO_POSTINGS
        self._rows = {word: row for row, word in enumerate(self._base.words)}
        self._added: dict[str, tuple[array[int], array[int]]] = {}
        self._lengths = array("I", self._base.lengths.astype(np.uintc).tobytes())
        for document in documents:
            self.add(document)

    def __len__(self) -> int:
        """The number of documents."""
        return len(self._lengths)

    def add(self, document: Sequence[str]) -> None:
        """Add a document at the end, in time proportional to its own length."""
        position = len(self._lengths)
        self._lengths.append(len(document))
        for word, count in Counter(document).items():
            found = self._added.get(word)
            if found is None:
                found = self._added[word] = (array("I"), array("I"))
            found[0].append(position)
            found[1].append(count)

    def scores(self, query_words: Iterable[str]) -> Floats:
        """Shape (n,): the score of each document for the query; 0 where no word is shared.

        A repeated word counts once.
        """
        total = np.zeros(len(self), dtype=np.float32)
        lengths = np.array(self._lengths, dtype=np.float32)
        for word in dict.fromkeys(query_words):
            positions, counts = self._postings_of(word)
            if len(positions):
                weight = np.float32(rarity(len(positions), len(self)))
                gained = gains(counts.astype(np.float32), lengths[positions], float(lengths.mean()))
                total[positions] += weight * gained
        return total

    def shares(self, query_words: Iterable[str]) -> Floats:
        """Shape (n,): each document's share of the query; rare words weigh more.

        From 0 to 1. The document's length and repeated words make no difference.
        """
        found = np.zeros(len(self), dtype=np.float32)
        most = 0.0
        for word in dict.fromkeys(query_words):
            positions, _ = self._postings_of(word)
            weight = rarity(len(positions), len(self))
            most += weight
            found[positions] += np.float32(weight)
        return found / np.float32(most or 1.0)

    def postings(self) -> Postings:
        """The whole index, to be stored."""
        words = [*self._rows, *(word for word in self._added if word not in self._rows)]
        found = [self._postings_of(word) for word in words]
        return Postings(
            words=words,
            ends=np.cumsum([len(positions) for positions, _ in found], dtype=np.uint32),
            positions=np.concatenate([_NONE, *(positions for positions, _ in found)]),
            counts=np.concatenate([_NONE, *(counts for _, counts in found)]),
            lengths=np.array(self._lengths, dtype=np.uint32),
        )

    def _postings_of(self, word: str) -> tuple[Numbers, Numbers]:
        row = self._rows.get(word)
        added = self._added.get(word)
        new = (np.array(added[0], np.uint32), np.array(added[1], np.uint32)) if added else None
        if row is None:
            return new or (_NONE, _NONE)
        start, end = int(self._base.ends[row - 1]) if row else 0, int(self._base.ends[row])
        old = self._base.positions[start:end], self._base.counts[start:end]
        return (np.concatenate([old[0], new[0]]), np.concatenate([old[1], new[1]])) if new else old
