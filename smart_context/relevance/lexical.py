"""Which messages of a chat use a topic's words; warm, so that a turn costs only what is new."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from smart_context.llm.models import Matrix
from smart_context.text.bm25 import SATURATION, Bm25
from smart_context.text.words import content_words

_MEMO = 256


class ChatWords:
    """The words of a chat's messages. Not for concurrent use."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._index = Bm25()
        self._memo: dict[str, NDArray[np.float32]] = {}
        self.lengths = np.zeros(0, dtype=np.float32)

    def place(self, texts: Sequence[str]) -> None:
        """Take these messages' texts; when texts were only added, it costs what they cost."""
        known = len(self._texts)
        if known == len(texts) and self._texts == texts:
            return
        if self._texts != texts[:known]:
            known = 0
            self._index = Bm25()
        for text in texts[known:]:
            self._index.add(content_words(text))
        self._texts = list(texts)
        self.lengths = np.array([len(text) for text in texts], dtype=np.float32)
        self._memo = {}

    def shares(self, queries: Sequence[str]) -> Matrix:
        """Shape (len(queries), n): how much of a query's words each message uses, 0 to 1.

        Rare words weigh more. A query without words that carry meaning gives zeros.
        """
        if not queries:
            return np.zeros((0, len(self._texts)), dtype=np.float32)
        return np.stack([self._share(query) for query in queries])

    def _share(self, query: str) -> NDArray[np.float32]:
        if query not in self._memo:
            if len(self._memo) >= _MEMO:
                self._memo.clear()
            words = list(dict.fromkeys(content_words(query)))
            best = sum(self._index.rarity(word) for word in words) * (SATURATION + 1)
            found = self._index.scores(words)
            self._memo[query] = found / np.float32(best) if best else found
        return self._memo[query]
