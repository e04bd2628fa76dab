"""Looks for labels in a chat: joins its vectors, words, times and authors for the judgement."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from smart_context.llm.models import Matrix
from smart_context.relevance.evidence.background import Background, Floats, Places
from smart_context.relevance.evidence.dates import dated
from smart_context.relevance.evidence.features import FirstLook, Look, first_look, second_look
from smart_context.relevance.evidence.lexical import ChatWords
from smart_context.relevance.judge.calibrate import PROBABLY
from smart_context.relevance.judge.judging import (
    Judge,
    presence,
    probabilities,
    ranking,
    scores_of,
)
from smart_context.relevance.score import Assigned, Scores, with_members
from smart_context.relevance.vectors.cosines import similarities, unit
from smart_context.text.words import spelled_words

_FITS = 0.6
_FAR = np.float32(1e-3)
"""Of a long chat's least likely messages only the order says something."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChatLook:
    """A chat, ready to be searched.

    Attributes:
        vectors: Shape (n, d).
        background: What is usual in it.
        words: Its words, placed.
    """

    vectors: Matrix
    background: Background
    words: ChatWords


def looks_of(
    labels: Sequence[str], label_vectors: Matrix, chat: ChatLook, judge: Judge
) -> list[Look]:
    """What is known of each label and the chat.

    Args:
        labels: The k labels.
        label_vectors: Shape (k, d).
        chat: The chat.
        judge: Of the embedding model.
    """
    close = judge.as_embedded(similarities(label_vectors, chat.vectors))
    lexical = chat.words.shares(labels)
    spoken_by = spoken(labels, chat.background.authors, len(chat.vectors))
    nulls = judge.as_embedded(similarities(label_vectors, judge.null_labels))
    return [
        Look(
            background=chat.background,
            close=close[row],
            lexical=lexical[row],
            words=chat.words.holding(label),
            lengths=chat.words.lengths,
            asks=chat.words.asks,
            spoken_by=spoken_by[row],
            dated=dated(label, chat.background.days),
            null_mean=float(nulls[row].mean()),
            null_spread=float(nulls[row].std()),
        )
        for row, label in enumerate(labels)
    ]


def spoken(labels: Sequence[str], authors: Iterable[tuple[int, str]], count: int) -> Matrix:
    """Shape (k, count): 1 where a label names the message's author."""
    found = np.zeros((len(labels), count), dtype=np.float32)
    named = tuple(authors)
    words = [frozenset(spelled_words(label)) for label in labels] if named else []
    for row, spelled in enumerate(words):
        for place, name in named:
            found[row, place] = name in spelled
    return found


def seen(looks: Sequence[Look], vectors: Matrix, judge: Judge) -> list[tuple[FirstLook, Matrix]]:
    """For each look what the label alone tells, and all features of the likeliest messages."""
    firsts = [first_look(look) for look in looks]
    centres = np.stack([unit(first.weights @ vectors[first.top]) for first in firsts])
    near = judge.as_embedded(similarities(centres, vectors))
    return [
        (first, second_look(first, near[row], look.background))
        for row, (look, first) in enumerate(zip(looks, firsts, strict=True))
    ]


def judged(looks: Sequence[Look], vectors: Matrix, judge: Judge) -> Matrix:
    """Shape (k, n): the scores of n messages for k labels, on the user's scale."""
    scores = np.zeros((len(looks), len(vectors)), dtype=np.float32)
    if not scores.size:
        return scores
    for row, (first, features) in enumerate(seen(looks, vectors, judge)):
        ranks = ranking(features, first.whole, judge.weights)
        likely = probabilities(features, first.whole, ranks, judge)
        found = scores_of(likely, ranks, presence(first.whole, judge))
        scores[row] = np.minimum(first.likely * _FAR, found.min())
        scores[row, first.candidates] = found
    return scores


def score_judged(
    labels: Sequence[str], label_vectors: Matrix, chat: ChatLook, judge: Judge, assigned: Assigned
) -> Scores:
    """The messages that are probably about each topic, on the user's scale.

    A label whose messages are by and large those of a found topic has its members.
    """
    looks = looks_of(labels, label_vectors, chat, judge)
    values = judged(looks, chat.vectors, judge)
    members, others = list(assigned.members), list(assigned.others)
    for row, found in enumerate(members):
        if not len(found) and (fitting := _fitting(values[row], others)) is not None:
            members[row] = others.pop(fitting)
    known = Assigned(members=members, others=others)
    return Scores(labels=tuple(labels), values=with_members(values, chat.vectors, known))


def _fitting(scores: Floats, topics: Sequence[Places]) -> int | None:
    """The found topic whose members are by and large what a label keeps."""
    kept = np.flatnonzero(scores >= PROBABLY)
    if not len(kept) or not topics:
        return None
    shared = [len(np.intersect1d(kept, members)) for members in topics]
    alike = [2 * both / (len(kept) + len(m)) for both, m in zip(shared, topics, strict=True)]
    best = int(np.argmax(alike))
    return best if alike[best] >= _FITS else None
