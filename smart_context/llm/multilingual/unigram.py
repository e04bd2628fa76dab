"""Splits texts into pieces by their probabilities, as the multilingual model wants them."""

import re
from collections.abc import Sequence
from functools import lru_cache

from smart_context.base.text.unicode_tables import normalized

SPACE = "\u2581"
"""Stands for the space before a word."""

_BLANK = re.compile(r"\s+")
_LONGEST_WORD = 100
_REMEMBERED_WORDS = 50_000
_OPENING, _CLOSING = 0, 2
_UNKNOWN_COSTS = 10.0
_IMPOSSIBLE = -1e30


class Unigram:
    """Turns text into ids of pieces; thread-safe.

    Args:
        pieces: The vocabulary; a piece's id is its index. The first ones are `<s>`, `<pad>`,
            `</s>` and `<unk>`, which no text gives.
        scores: The log probability of each piece.
        prefix: Put before each text.

    Attributes:
        unknown: The id of pieces that are not in the vocabulary.
    """

    unknown = 3

    def __init__(self, pieces: Sequence[str], scores: Sequence[float], *, prefix: str = "") -> None:
        first = self.unknown + 1
        self._known = {
            piece: (number, score)
            for number, (piece, score) in enumerate(
                zip(pieces[first:], scores[first:], strict=True), first
            )
        }
        self._longest = max(map(len, self._known))
        self._unknown_score = min(score for _, score in self._known.values()) - _UNKNOWN_COSTS
        self._ids_of_word = lru_cache(_REMEMBERED_WORDS)(self._likeliest)
        self._before = (_OPENING, *self.ids(prefix))

    def framed(self, ids: Sequence[int]) -> tuple[int, ...]:
        """The ids as the model reads them, with the frame before and after a text."""
        return (*self._before, *ids, _CLOSING)

    def ids(self, text: str) -> list[int]:
        """The ids of a text's pieces, without the frame."""
        words = _BLANK.split(normalized("NFKC", text).strip())
        return [number for word in words if word for number in self._ids_of(SPACE + word)]

    def _ids_of(self, word: str) -> list[int]:
        return [
            number
            for begin in range(0, len(word), _LONGEST_WORD)
            for number in self._ids_of_word(word[begin : begin + _LONGEST_WORD])
        ]

    def _likeliest(self, word: str) -> tuple[int, ...]:
        """The ids of the likeliest division of a word."""
        count = len(word)
        best = [0.0] + [_IMPOSSIBLE] * count
        last = [(0, self.unknown)] * (count + 1)
        for begin in range(count):
            for end in range(begin + 1, min(count, begin + self._longest) + 1):
                found = self._known.get(word[begin:end])
                if found is None and end > begin + 1:
                    continue
                number, score = found or (self.unknown, self._unknown_score)
                if best[begin] + score > best[end]:
                    best[end], last[end] = best[begin] + score, (begin, number)
        ids: list[int] = []
        place = count
        while place:
            place, number = last[place]
            ids.append(number)
        return tuple(reversed(ids))
