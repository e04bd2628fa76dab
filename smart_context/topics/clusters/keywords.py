"""Words that set a group of messages apart from the rest of the chat."""

import math
from collections import Counter
from collections.abc import Sequence

from smart_context.base.text.words import is_stop_word, spelled_words, stem

_MOST = 10
_FEWEST_LETTERS = 3


def keywords_of(
    texts: Sequence[str], groups: Sequence[Sequence[int]], *, most: int = _MOST
) -> list[tuple[str, ...]]:
    """The keywords of each group of positions in `texts`, the most telling first.

    A word counts once per message; one spelling represents all its forms.
    """
    words = [_words(text) for text in texts]
    holding = Counter(key for spellings in words for key in spellings)
    return [
        _telling([words[place] for place in group], holding, len(texts), most) for group in groups
    ]


def _words(text: str) -> dict[str, str]:
    """The content words of a text, as one spelling by stem."""
    spellings: dict[str, str] = {}
    for word in spelled_words(text):
        if not is_stop_word(word) and not word.isdigit() and _is_long_enough(word):
            spellings.setdefault(stem(word), word)
    return spellings


def _is_long_enough(word: str) -> bool:
    return len(word) >= _FEWEST_LETTERS or not word.isascii()


def _telling(
    group: Sequence[dict[str, str]], holding: Counter[str], total: int, most: int
) -> tuple[str, ...]:
    inside = Counter(key for spellings in group for key in spellings)
    spelled: dict[str, Counter[str]] = {}
    for spellings in group:
        for key, word in spellings.items():
            spelled.setdefault(key, Counter())[word] += 1

    def weight(key: str) -> tuple[float, str]:
        """Sorts words that are frequent here and rare elsewhere first; ties by stem."""
        share = inside[key] / holding[key]
        return -share * inside[key] * math.log(1 + total / holding[key]), key

    best = sorted(inside, key=weight)[:most]
    return tuple(spelled[key].most_common(1)[0][0] for key in best)
