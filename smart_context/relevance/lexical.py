"""Which messages of a chat use a topic's words.

Nothing is indexed ahead: a word is looked up when it is first asked for, by searching for its stem
as plain text, and only messages that have it are taken apart. What was looked up stays, and grows
with the chat, so a turn costs what is new.
"""

import re
import unicodedata
from collections.abc import Sequence
from operator import is_

import numpy as np
from numpy.typing import NDArray

from smart_context.chat.messages import Message
from smart_context.llm.models import Matrix
from smart_context.text.bm25 import MOST_GAIN, gains, rarity
from smart_context.text.words import UNSPACED_RUN, content_words, stem

_MEMO = 512
_WHOLE_STEM = 3

Postings = tuple[list[int], list[int]]
"""Positions of the messages that have a word, and how often they have it."""


class ChatWords:
    """The words of a chat's messages. Not for concurrent use.

    Attributes:
        lengths: Shape (n,), the messages' lengths in characters.
    """

    def __init__(self) -> None:
        self.lengths = np.zeros(0, dtype=np.float32)
        self._messages: Sequence[Message] = ()
        self._texts: list[str] = []
        self._lowered: list[str] = []
        self._postings: dict[str, Postings] = {}
        self._searched: dict[str, int] = {}

    def place(self, messages: Sequence[Message]) -> None:
        """Take these messages; when some were only added, it costs what they cost."""
        texts = [m.content if isinstance(m.content, str) else m.text for m in messages]
        known = len(self._texts)
        if texts[:known] != self._texts:
            known = 0
            self._lowered, self._postings, self._searched = [], {}, {}
        added = texts[known:]
        if added or not known:
            self._lowered.extend(map(_lowered, added))
            self.lengths = np.array(list(map(len, texts)), dtype=np.float32)
        self._messages, self._texts = tuple(messages), texts

    def is_ready(self, messages: Sequence[Message], queries: Sequence[str]) -> bool:
        """Whether `shares` of these queries has nothing left to look up for these messages."""
        return (
            len(messages) == len(self._messages)
            and all(map(is_, messages, self._messages))
            and all(
                self._searched.get(word) == len(messages)
                for query in queries
                for word in content_words(query)
            )
        )

    def shares(self, queries: Sequence[str]) -> Matrix:
        """Shape (len(queries), n): how much of a query's words each message uses, 0 to 1.

        Rare words weigh more. A query without words that carry meaning gives zeros.
        """
        found = np.zeros((len(queries), len(self._texts)), dtype=np.float32)
        for row, query in zip(found, queries, strict=True):
            self._add_share(row, dict.fromkeys(content_words(query)))
        return found

    def _add_share(self, row: NDArray[np.float32], words: Sequence[str] | dict[str, None]) -> None:
        average = float(self.lengths.mean()) if len(self.lengths) else 1.0
        most = 0.0
        for word in words:
            positions, counts = self._lookup(word)
            weight = rarity(len(positions), len(self._texts))
            most += weight * MOST_GAIN
            if positions:
                places = np.array(positions, dtype=np.intp)
                gain = gains(np.array(counts, np.float32), self.lengths[places], average)
                row[places] += np.float32(weight) * gain
        if most:
            row /= np.float32(most)

    def _lookup(self, word: str) -> Postings:
        if len(self._postings) > _MEMO:
            self._postings, self._searched = {}, {}
        positions, counts = self._postings.setdefault(word, ([], []))
        sought = word if len(word) <= _WHOLE_STEM else word[:-1]
        rest_of_word = re.compile(re.escape(sought) + r"[^\W_]*(?:\+\+|#(?!\w))?")
        for place in range(self._searched.get(word, 0), len(self._lowered)):
            if sought in self._lowered[place] and (count := self._count(place, word, rest_of_word)):
                positions.append(place)
                counts.append(count)
        self._searched[word] = len(self._lowered)
        return positions, counts

    def _count(self, place: int, word: str, rest_of_word: re.Pattern[str]) -> int:
        lowered = self._lowered[place]
        if UNSPACED_RUN.match(word):
            return lowered.count(word)
        found = sum(
            stem(match.group()) == word
            and not lowered[max(match.start() - 1, 0) : match.start()].isalnum()
            for match in rest_of_word.finditer(lowered)
        )
        return found or content_words(self._texts[place]).count(word)


def _lowered(text: str) -> str:
    """The text in which every stem of it is found, but for its last letter."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).lower()
