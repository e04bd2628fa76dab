"""Finds the passages closest to a question, by shared words and embeddings."""

import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from smart_context.base.text.bm25 import Bm25
from smart_context.base.text.words import content_words
from smart_context.llm.models import Matrix

MOST_COMPARED = 48
"""The most passages embedded for one question: about half a second on one core."""

CLOSE_ENOUGH = 0.35
"""The least closeness of a quoted passage; unrelated ones stay below 0.2."""

_BLANK_LINES = re.compile(r"\n\s*\n")
_WORDS_WEIGHT = 0.5


def paragraphs(text: str, most_characters: int) -> Iterator[str]:
    """Cut a text into pieces of at most `most_characters`, if possible at blank lines."""
    piece = ""
    for paragraph in _BLANK_LINES.split(text.strip()):
        if piece and len(piece) + 2 + len(paragraph) > most_characters:
            yield from split_at_spaces(piece, most_characters)
            piece = ""
        piece = f"{piece}\n\n{paragraph}" if piece else paragraph
    yield from split_at_spaces(piece, most_characters)


def split_at_spaces(text: str, most_characters: int) -> Iterator[str]:
    """Cut a text into pieces of at most `most_characters`, if possible at white space."""
    while len(text) > most_characters:
        head = text[:most_characters]
        end = max(head.rfind(" "), head.rfind("\n")) + 1 or most_characters
        if piece := text[:end].strip():
            yield piece
        text = text[end:]
    if piece := text.strip():
        yield piece


def prefiltered(question: str, texts: Sequence[str]) -> list[int]:
    """The indexes of at most 48 texts, by the rare words shared with the question.

    Blank texts and repetitions are skipped.
    """
    first = {text: place for place, text in reversed(list(enumerate(texts))) if text.strip()}
    places = sorted(first.values())
    if len(places) <= MOST_COMPARED:
        return places
    scores = Bm25(content_words(texts[place]) for place in places).scores(content_words(question))
    return [places[int(rank)] for rank in np.argsort(-scores, kind="stable")[:MOST_COMPARED]]


def closeness(
    question: str, texts: Sequence[str], cosines: NDArray[np.float32] | None
) -> NDArray[np.float32]:
    """Shape (n,): the closeness of each text to the question, from about 0 to 1.5.

    Args:
        cosines: Shape (n,), of embeddings; `None` if there are none. They count less, the more
            of the question is in scripts that the built-in model hardly knows.
    """
    asked = set(content_words(question))
    shares = np.array([_coverage(asked, text) for text in texts], np.float32)
    if cosines is None:
        return shares
    return blended(shares, cosines, share_of_ascii(question))


def blended(
    shares: NDArray[np.float32], cosines: NDArray[np.float32], trust: float
) -> NDArray[np.float32]:
    """Shape (n,): the closeness of n texts, about 0 to 1.5, by words and meaning.

    Args:
        shares: Shape (n,): the share of the question's words in each text, from 0 to 1.
        cosines: Shape (n,): of embeddings; 0 where there is none.
        trust: How well the embedding model knows the question's language, from 0 to 1.
    """
    by_words: NDArray[np.float32] = shares * np.float32(1 - trust * (1 - _WORDS_WEIGHT))
    return by_words + cosines * np.float32(trust)


def cosines_to_first(rows: Matrix) -> NDArray[np.float32]:
    """Shape (n - 1,): the cosine of the first unit row with each other one."""
    cosines: NDArray[np.float32] = rows[1:] @ rows[0]
    return cosines


def _coverage(asked: set[str], text: str) -> float:
    return len(asked & set(content_words(text))) / len(asked) if asked else 0.0


def share_of_ascii(text: str) -> float:
    """The share of ASCII among a text's letters, which the built-in model knows well."""
    letters = [character for character in text if character.isalpha()]
    return sum(letter.isascii() for letter in letters) / len(letters) if letters else 0.0
