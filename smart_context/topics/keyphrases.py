"""Phrases of a chat that could name a topic: a few words without a stop word between them."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from smart_context.text.stopwords import PARTICLES
from smart_context.text.words import UNSPACED_RUN, is_stop_word, stem
from smart_context.topics.weak_words import WEAK_WORDS

_MOST_WORDS = 3
_LONGEST_TEXT = 4_000
_FEWEST_CHARACTERS, _MOST_CHARACTERS = 2, 6

_BREAK = re.compile(
    r"[,.;:!?()\[\]{}\"|/\\*<>=\n\u2013\u2014\u201c-\u201e\u2026«»"
    r"\u3001\u3002\u3008-\u3011\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f]+"
)
_WORD = re.compile(r"[^\W_](?:[\w.#'\u2019-]*[\w#])?(?:\+\+)?")
_INNER_POINT = re.compile(r"(?<=\w)\.(?=\w)")
_POINT = "\u02d1"
_CODE = re.compile(r"```.*?```|`[^`\n]*`|https?://\S+", re.DOTALL)
_LINKING = frozenset(
    "是我你他她它也就还還很与與没沒不把被让讓给給从從为為怎谁誰之而但或因所请請想说說"
)
"""Han characters that neither begin nor end a name."""


S = TypeVar("S", str, list[str])


@dataclass(slots=True)
class Phrase:
    """A candidate for a label.

    Attributes:
        words: Its words' stems; what makes two spellings the same phrase.
        spellings: How it is written, and how often.
        places: The messages that use it.
    """

    words: tuple[str, ...]
    spellings: Counter[str] = field(default_factory=Counter)
    places: set[int] = field(default_factory=set)

    @property
    def text(self) -> str:
        """Its commonest spelling."""
        return self.spellings.most_common(1)[0][0]


def phrases_of(texts: Sequence[str], places: Iterable[int]) -> list[Phrase]:
    """All candidates of the texts at `places`, with the positions of those that use them."""
    found: dict[tuple[str, ...], Phrase] = {}
    for place in places:
        for words, spelling in _phrases(texts[place][:_LONGEST_TEXT]):
            phrase = found.setdefault(words, Phrase(words))
            phrase.spellings[spelling] += 1
            phrase.places.add(place)
    return _without_fragments(list(found.values()))


def _phrases(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    plain = _INNER_POINT.sub(_POINT, _CODE.sub(" , ", text))
    for stretch in _BREAK.split(plain):
        for run in _runs(stretch):
            for words in _windows(run, 1, _MOST_WORDS):
                spelling = " ".join(words).replace(_POINT, ".")
                yield tuple(stem(word.lower()) for word in words), spelling
        for characters in UNSPACED_RUN.findall(stretch):
            for piece in _windows(characters, _FEWEST_CHARACTERS, _MOST_CHARACTERS):
                if (
                    piece not in WEAK_WORDS
                    and PARTICLES.isdisjoint(piece)
                    and _LINKING.isdisjoint((piece[0], piece[-1]))
                ):
                    yield (piece,), piece


def _windows(run: S, fewest: int, most: int) -> Iterator[S]:
    for size in range(fewest, min(most, len(run)) + 1):
        for begin in range(len(run) - size + 1):
            yield run[begin : begin + size]


def _without_fragments(phrases: Sequence[Phrase]) -> list[Phrase]:
    """Without stretches of characters that are no word: used once, or only within a longer one."""
    spaced = [phrase for phrase in phrases if not UNSPACED_RUN.match(phrase.text)]
    repeated = [p for p in phrases if UNSPACED_RUN.match(p.text) and len(p.places) > 1]
    whole: list[Phrase] = []
    inside: dict[str, set[int]] = {}
    for phrase in sorted(repeated, key=lambda phrase: -len(phrase.text)):
        if inside.get(phrase.text) != phrase.places:
            whole.append(phrase)
        for piece in _windows(phrase.text, _FEWEST_CHARACTERS, len(phrase.text) - 1):
            inside.setdefault(piece, set()).update(phrase.places)
    return spaced + whole


def _runs(stretch: str) -> Iterator[list[str]]:
    """Stretches of neighbouring words that carry meaning."""
    run: list[str] = []
    for word in _WORD.findall(UNSPACED_RUN.sub(" , ", stretch)):
        lowered = word.lower()
        if is_stop_word(lowered) or lowered in WEAK_WORDS or not _can_name(lowered):
            if run:
                yield run
            run = []
        else:
            run.append(word)
    if run:
        yield run


def _can_name(word: str) -> bool:
    return len(word) > 1 and not word[0].isdigit()
