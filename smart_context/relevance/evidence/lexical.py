"""Finds the messages of a chat that use a label's words.

Nothing is indexed in advance: a word is looked up on first use, by searching for its stem as plain
text, and only messages that contain it are split into words. Results are kept and extended as the
chat grows, so the cost of a turn depends only on what is new.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from smart_context.base.text.bm25 import MOST_GAIN, gains, rarity
from smart_context.base.text.unicode_tables import normal_pieces
from smart_context.base.text.words import UNSPACED_RUN, asks, content_words, stem
from smart_context.chat.messages import Message
from smart_context.llm.models import Matrix
from smart_context.relevance.vectors.warm import common_length

_SHORTEST, _SHORT, _KEPT = 3, 4, 0.75
_LONG_TAIL, _SHORT_TAIL = 4, 2
_COMPOUNDING = frozenset({"de", "nl"})
_COMPOUNDED = 5
_ENDING = re.compile(
    "[aeiouyäöüàâáãéèêëíìïóòõôúùûąę\u0131"
    "\u0430\u0435\u0451\u0438\u043e\u0443\u044b\u044d\u044e\u044f\u044c\u0439"  # Russian
    "\u0629\u0647\u05d4]$"  # Arabic and Hebrew
)
"""The ending that other forms of a word replace or drop."""
_ARTICLES = {"ar": re.compile("^\u0627\u0644"), "he": re.compile("^\u05d4")}
_BEFORE = {
    # and, so; in, like, to; the
    "ar": "[\u0648\u0641]?[\u0628\u0643\u0644]?(?:\u0627\u0644|\u0644)?",
    "he": "[\u05d5\u05d4\u05d1\u05dc\u05db\u05de\u05e9]{0,2}",  # and, the, in, to, like, from, that
}

Forms = tuple[str, re.Pattern[str]]
"""A text that all forms of a word contain, and a pattern that each of them matches."""


@lru_cache(maxsize=4_096)
def forms_of(word: str, language: str) -> Forms | None:
    """The forms of a word; `None` if it has none besides itself, or the language is English.

    A form begins like the word, after an article or preposition that is written with it, and ends
    in a few other letters: `Lizbona`, `w Lizbonie`. In German and Dutch it may begin a compound.

    Args:
        word: A lower-cased word or stem.
        language: The ISO 639-1 code of the text to search; empty if unknown.
    """
    if language in {"", "en"} or not word.isalpha() or UNSPACED_RUN.match(word):
        return None
    plain = _without_article(word, language)
    if len(plain) < _SHORTEST:
        return None
    if len(plain) <= _SHORT:
        shared = _ENDING.sub("", plain) if len(plain) == _SHORT else plain
        tail = f"{{0,{_SHORT_TAIL}}}"
    else:
        kept = max(_SHORT, -int(-_KEPT * len(plain) // 1))
        shared = plain[:kept]
        is_open = language in _COMPOUNDING and kept >= _COMPOUNDED
        tail = "*" if is_open else f"{{0,{len(plain) - kept + _LONG_TAIL}}}"
    before = _BEFORE.get(language, "")
    return shared, re.compile(rf"(?<![^\W_]){before}{re.escape(shared)}[^\W\d_]{tail}(?![^\W_])")


def _without_article(word: str, language: str) -> str:
    article = _ARTICLES.get(language)
    rest = article.sub("", word) if article else word
    return rest if len(rest) >= _SHORTEST else word


_MEMO = 512
_WHOLE_STEM = 3

Postings = tuple[NDArray[np.intp], NDArray[np.float32]]
"""Positions of the messages with a word, ascending, and the number of times that each has it."""

_NOWHERE = np.zeros(0, dtype=np.intp)
_NEVER = np.zeros(0, dtype=np.float32)


class ChatWords:
    """The words of a chat's messages. Not for concurrent use.

    Attributes:
        language: The ISO 639-1 code of the language whose inflections are found; empty for none.
        lengths: Shape (n,), the messages' lengths in characters.
        asks: Shape (n,), 1 for each message with a question mark, else 0.
        copies: Shape (n,), the position of the first message with the same text.
    """

    def __init__(self) -> None:
        self.language = ""
        self.lengths = np.zeros(0, dtype=np.float32)
        self._messages: tuple[Message, ...] = ()
        self._lowered: list[str] = []
        self.asks = np.zeros(0, dtype=np.float32)
        self.copies = _NOWHERE
        self._first: dict[str, int] = {}
        self._all_copies = self.copies
        self._all_lengths = self.lengths
        self._all_asks = self.asks
        self._postings: dict[str, Postings] = {}
        self._searched: dict[str, int] = {}

    def place(self, messages: Sequence[Message], language: str = "") -> None:
        """Set the chat's messages; the cost depends only on those that changed.

        Known messages after the last one are kept, since they are often needed again next.

        Args:
            messages: All its messages, oldest first.
        """
        if language != self.language:
            self.language, self._postings, self._searched = language, {}, {}
        asked = tuple(messages)
        same = common_length(asked, self._messages)
        if same < len(asked):
            self._cut(same)
            texts = [_text(message) for message in asked[same:]]
            self._lowered.extend(map(_lowered, texts))
            firsts = [self._first.setdefault(t.strip(), same + n) for n, t in enumerate(texts)]
            self._all_copies = np.append(self._all_copies[:same], np.array(firsts, dtype=np.intp))
            added = np.array(list(map(len, texts)), dtype=np.float32)
            self._all_lengths = np.concatenate([self._all_lengths[:same], added])
            questions = np.array([asks(text) for text in texts], dtype=np.float32)
            self._all_asks = np.concatenate([self._all_asks[:same], questions])
            self._messages = asked
        self.asks = self._all_asks[: len(asked)]
        self.copies = self._all_copies[: len(asked)]
        self.lengths = self._all_lengths[: len(asked)]

    def is_ready(
        self, messages: Sequence[Message], queries: Sequence[str], language: str = ""
    ) -> bool:
        """True if `place` and `shares` have nothing to look up for these."""
        count = len(messages)
        is_placed = language == self.language and tuple(messages) == self._messages[:count]
        return is_placed and all(
            self._searched.get(word, 0) >= count
            for query in queries
            for word in content_words(query)
        )

    def shares(self, queries: Sequence[str]) -> Matrix:
        """Shape (len(queries), n): the share of a query's words in each message, 0 to 1.

        Rare words weigh more. A query of only stop words gives zeros.
        """
        found = np.zeros((len(queries), len(self.lengths)), dtype=np.float32)
        for row, query in zip(found, queries, strict=True):
            self._add_share(row, dict.fromkeys(content_words(query)))
        return found

    def _add_share(self, row: NDArray[np.float32], words: Sequence[str] | dict[str, None]) -> None:
        count = len(self.lengths)
        average = float(self.lengths.mean()) if count else 1.0
        most = 0.0
        for word in words:
            positions, counts = self._lookup(word)
            among = int(positions.searchsorted(count))
            weight = rarity(among, count)
            most += weight * MOST_GAIN
            places = positions[:among]
            gain = gains(counts[:among], self.lengths[places], average)
            row[places] += np.float32(weight) * gain
        if most:
            row /= np.float32(most)

    def holding(self, query: str) -> tuple[tuple[float, NDArray[np.intp]], ...]:
        """For each of a query's words, its rarity in the chat and the messages with it."""
        count = len(self.lengths)
        found: list[tuple[float, NDArray[np.intp]]] = []
        for word in dict.fromkeys(content_words(query)):
            positions, _ = self._lookup(word)
            places = positions[: int(positions.searchsorted(count))]
            found.append((rarity(len(places), count), places))
        return tuple(found)

    def _cut(self, count: int) -> None:
        """Forget all but the first `count` messages."""
        del self._lowered[count:]
        self._first = {text: place for text, place in self._first.items() if place < count}
        for word, (positions, counts) in self._postings.items():
            among = int(positions.searchsorted(count))
            self._postings[word] = positions[:among], counts[:among]
            self._searched[word] = min(self._searched[word], count)

    def _lookup(self, word: str) -> Postings:
        if len(self._postings) > _MEMO:
            self._postings, self._searched = {}, {}
        known = self._searched.get(word, 0)
        if known == len(self._lowered) and word in self._postings:
            return self._postings[word]
        sought = word if len(word) <= _WHOLE_STEM else word[:-1]
        rest_of_word = re.compile(re.escape(sought) + r"[^\W_]*(?:\+\+|#(?!\w))?")
        shared, form = forms_of(word, self.language) or (sought, None)
        found = {
            place: count
            for place in range(known, len(self._lowered))
            if shared in self._lowered[place]
            and (count := self._count(place, word, form or rest_of_word))
        }
        positions, counts = self._postings.get(word, (_NOWHERE, _NEVER))
        positions = np.concatenate([positions, np.array([*found], dtype=np.intp)])
        counts = np.concatenate([counts, np.array([*found.values()], dtype=np.float32)])
        self._postings[word], self._searched[word] = (positions, counts), len(self._lowered)
        return positions, counts

    def _count(self, place: int, word: str, rest_of_word: re.Pattern[str]) -> int:
        lowered = self._lowered[place]
        if forms_of(word, self.language):
            return sum(1 for _ in rest_of_word.finditer(lowered))
        if UNSPACED_RUN.match(word):
            return lowered.count(word)
        found = sum(
            stem(match.group()) == word
            and not lowered[max(match.start() - 1, 0) : match.start()].isalnum()
            for match in rest_of_word.finditer(lowered)
        )
        return found or content_words(_text(self._messages[place])).count(word)


def pooled(values: Matrix, copies: NDArray[np.intp]) -> Matrix:
    """The values, with the mean of all copies of a text in place of each one's own.

    Args:
        values: Shape (k, n).
        copies: Shape (n,), the position of the first message with the same text.
    """
    count = len(copies)
    if not count or np.array_equal(copies, np.arange(count)):
        return values
    sizes = np.maximum(np.bincount(copies, minlength=count), 1)
    means = [(np.bincount(copies, row, minlength=count) / sizes)[copies] for row in values]
    return np.array(means, dtype=np.float32).reshape(values.shape)


def _text(message: Message) -> str:
    return message.content if isinstance(message.content, str) else message.text


def _lowered(text: str) -> str:
    """The text in the form that is searched for stems without their last letter."""
    return "".join(piece.lower() for piece in normal_pieces("NFKC", text))
