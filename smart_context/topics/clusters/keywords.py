"""Words that set a group of messages apart from the rest of the chat."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from smart_context.base.text.words import is_stop_word, spelled_words, stem

_MOST = 10
_FEWEST_LETTERS = 3
_CHATS = 4
"""Chats whose words are remembered, at some hundred bytes for each message."""


class Keywords:
    """Finds keywords; splits only those texts of a chat that are new since the last time."""

    def __init__(self) -> None:
        self._chats: LRUCache[str, _StemmedWords] = LRUCache(_CHATS)
        self._lock = threading.Lock()

    def of(
        self, texts: Sequence[str], groups: Sequence[Sequence[int]], *, most: int = _MOST
    ) -> list[tuple[str, ...]]:
        """The keywords of each group of positions in `texts`, the most telling first.

        A word counts once per message; one spelling represents all its forms.
        """
        if not texts:
            return [() for _ in groups]
        with self._lock:
            words = self._chats.pop(texts[0], None) or _StemmedWords()
            words.follow(texts)
            self._chats[texts[0]] = words
            return words.telling(groups, most)


@dataclass(slots=True)
class _StemmedWords:
    """The words of a chat's texts. A word is a stem with the spelling that a text has first."""

    texts: list[str] = field(default_factory=list)
    ids: list[NDArray[np.int32]] = field(default_factory=list)
    words: dict[tuple[str, str], int] = field(default_factory=dict)
    stems: dict[str, int] = field(default_factory=dict)
    stem_of: list[int] = field(default_factory=list)

    def follow(self, texts: Sequence[str]) -> None:
        """Read the texts from the first changed one on."""
        pairs = zip(self.texts, texts, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        del self.ids[same:]
        self.ids += [self._read(text) for text in texts[same:]]
        self.texts = list(texts)

    def telling(self, groups: Sequence[Sequence[int]], most: int) -> list[tuple[str, ...]]:
        """The words of each group that are frequent in it and rare elsewhere; ties by stem."""
        stem_of = np.array(self.stem_of, dtype=np.intp)
        words, stems = list(self.words), list(self.stems)
        holding = self._by_stem(stem_of, self._counted(range(len(self.ids))))
        found = []
        for group in groups:
            counts = self._counted(group)
            inside = self._by_stem(stem_of, counts)
            shared = np.flatnonzero(inside)
            weights = inside[shared] ** 2 / holding[shared]
            weights *= np.log1p(len(self.ids) / holding[shared])
            if len(shared) > most:
                best = weights >= np.partition(weights, -most)[-most]
                shared, weights = shared[best], weights[best]
            named = zip((-weights).tolist(), [stems[n] for n in shared], shared, strict=True)
            forms = [np.flatnonzero(stem_of == number) for _, _, number in sorted(named)[:most]]
            found.append(tuple(words[each[np.argmax(counts[each])]][1] for each in forms))
        return found

    def _counted(self, places: Sequence[int]) -> NDArray[np.int64]:
        """The number of texts at these places that have each word."""
        found = [self.ids[place] for place in places]
        together = np.concatenate(found) if found else np.zeros(0, dtype=np.int32)
        return np.bincount(together, minlength=len(self.words))

    def _by_stem(self, stem_of: NDArray[np.intp], counts: NDArray[np.int64]) -> NDArray[np.float64]:
        found = np.zeros(len(self.stems))
        np.add.at(found, stem_of, counts)
        return found

    def _read(self, text: str) -> NDArray[np.int32]:
        spellings: dict[str, str] = {}
        for word in spelled_words(text):
            if not is_stop_word(word) and not word.isdigit() and _is_long_enough(word):
                spellings.setdefault(stem(word), word)
        return np.array([self._id(*each) for each in spellings.items()], dtype=np.int32)

    def _id(self, root: str, spelling: str) -> int:
        known = self.words.get((root, spelling))
        if known is None:
            known = self.words[root, spelling] = len(self.words)
            self.stem_of.append(self.stems.setdefault(root, len(self.stems)))
        return known


def _is_long_enough(word: str) -> bool:
    return len(word) >= _FEWEST_LETTERS or not word.isascii()
