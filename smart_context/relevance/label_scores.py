"""Scores a chat's messages for labels with a judge, by vectors, words, times and authors."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from smart_context.base.text.languages import main_language
from smart_context.base.text.words import spelled_words
from smart_context.chat.messages import Message
from smart_context.llm.models import Matrix
from smart_context.llm.multilingual.files import is_read_by_e5
from smart_context.relevance.evidence.background import (
    Background,
    BackgroundMaker,
    Floats,
    Places,
)
from smart_context.relevance.evidence.dates import dated
from smart_context.relevance.evidence.features import (
    FirstPass,
    LabelEvidence,
    first_pass,
    second_pass,
)
from smart_context.relevance.evidence.lexical import ChatWords, pooled
from smart_context.relevance.judge.calibrate import MENTIONED, PROBABLY
from smart_context.relevance.judge.cuts import cut_of
from smart_context.relevance.judge.judging import (
    Judge,
    presence,
    probabilities,
    ranking,
)
from smart_context.relevance.score import Assigned, Scores, with_members
from smart_context.relevance.vectors.cosines import similarities, unit

_FITS = 0.6
_ALIKE, _SAME = np.float32(0.75), np.float32(0.92)
_BLOCK = 512  # messages compared with the others at once, fewer of a very long chat
_PAIRS = 1 << 20  # pairs compared at once: 4 MB, of which there are several copies
_WORTH_SHARING = 0.02
_FAR = np.float32(1e-3)
"""The factor of the least likely messages of a long chat, which are not judged one by one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SearchableChat:
    """A chat, ready to be searched."""

    vectors: Matrix  # shape (n, d)
    background: Background  # its values without a topic
    words: ChatWords  # its words

    @classmethod
    def of(cls, messages: Sequence[Message], vectors: Matrix, judge: Judge) -> "SearchableChat":
        """A chat of n messages, read from scratch; `vectors` has shape (n, d)."""
        words = ChatWords()
        words.place(messages, main_language([message.text for message in messages]))
        maker = BackgroundMaker(judge.null_labels, judge.as_embedded)
        return cls(vectors=vectors, background=maker.background(messages, vectors), words=words)


def evidence_for(
    labels: Sequence[str], label_vectors: Matrix, chat: SearchableChat, judge: Judge
) -> list[LabelEvidence]:
    """The evidence on each label in the chat.

    Args:
        label_vectors: Shape (k, d).
    """
    close = judge.as_embedded(similarities(label_vectors, chat.vectors))
    lexical = chat.words.shares(labels)
    spoken_by = named_authors(labels, chat.background.authors, len(chat.vectors))
    nulls = judge.as_embedded(similarities(label_vectors, judge.null_labels))
    return [
        LabelEvidence(
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
            in_other_language=chat.words.language not in {"", "en"},
            is_read_roughly=chat.words.language != "" and is_read_by_e5(chat.words.language),
        )
        for row, label in enumerate(labels)
    ]


def named_authors(labels: Sequence[str], authors: Iterable[tuple[int, str]], count: int) -> Matrix:
    """Shape (k, count): 1 where a label names the message's author."""
    found = np.zeros((len(labels), count), dtype=np.float32)
    with_name = tuple(authors)
    words = [frozenset(spelled_words(label)) for label in labels] if with_name else []
    for row, spelled in enumerate(words):
        for position, name in with_name:
            found[row, position] = name in spelled
    return found


def both_passes(
    evidence: Sequence[LabelEvidence], vectors: Matrix, judge: Judge
) -> list[tuple[FirstPass, Matrix]]:
    """The first pass for each label, and all features of its likeliest messages."""
    firsts = [first_pass(each) for each in evidence]
    centres = np.stack([unit(first.weights @ vectors[first.top]) for first in firsts])
    near = judge.as_embedded(similarities(centres, vectors))
    return [
        (first, second_pass(first, near[row], each.background))
        for row, (each, first) in enumerate(zip(evidence, firsts, strict=True))
    ]


def judged(
    evidence: Sequence[LabelEvidence], vectors: Matrix, judge: Judge
) -> tuple[Matrix, Floats]:
    """The probabilities that messages are about labels, and that the chat mentions the labels.

    Returns:
        Shape (k, n), the probability that each of n messages is about each of k labels, and shape
        (k,), the probability that the chat mentions each label, which is a factor of the former.
    """
    likely = np.zeros((len(evidence), len(vectors)), dtype=np.float32)
    mentioned = np.zeros(len(evidence), dtype=np.float32)
    if not likely.size:
        return likely, mentioned
    for row, (first, features) in enumerate(both_passes(evidence, vectors, judge)):
        present = presence(first.whole, judge)
        ranks = ranking(features, first.whole, judge.weights)
        found = present * probabilities(features, first.whole, ranks, judge)
        found = shared_by_paraphrases(found, vectors[first.candidates], judge)
        likely[row] = np.minimum(first.likely * _FAR, found.min())
        likely[row, first.candidates] = found
        mentioned[row] = present
    return likely, mentioned


def shared_by_paraphrases(likely: Floats, vectors: Matrix, judge: Judge) -> Floats:
    """The probabilities, averaged over messages that say the same in other words.

    A message's probability depends on its neighbours, so the same statement in two places would
    get two numbers. The more alike two messages are, the more each counts for the other.

    Args:
        likely: Shape (n,).
        vectors: Shape (n, d), unit rows or zero rows.
    """
    some = np.flatnonzero(likely >= _WORTH_SHARING)
    if len(some) == 0:
        return likely
    sure = vectors[some]
    block = _block_beside(len(sure))
    is_concerned = [
        _sameness(similarities(vectors[at : at + block], sure), judge).any(axis=1)
        for at in range(0, len(likely), block)
    ]
    concerned = np.flatnonzero(np.concatenate(is_concerned))
    shared, rows = likely.copy(), vectors[concerned]
    block = _block_beside(len(rows))
    for at in range(0, len(concerned), block):
        weights = _sameness(similarities(rows[at : at + block], rows), judge)
        np.fill_diagonal(weights[:, at:], 1)
        shared[concerned[at : at + block]] = weights @ likely[concerned] / weights.sum(axis=1)
    return shared


def _block_beside(others: int) -> int:
    return max(1, min(_BLOCK, _PAIRS // max(1, others)))


def _sameness(cosines: Matrix, judge: Judge) -> Matrix:
    """The similarity in content, from 0 for different things to 1 for the same in other words."""
    steps = (judge.as_embedded(cosines) - _ALIKE) / (_SAME - _ALIKE)
    return np.asarray(np.clip(steps, 0, 1), dtype=np.float32)


def score_judged(
    labels: Sequence[str],
    label_vectors: Matrix,
    chat: SearchableChat,
    judge: Judge,
    assigned: Assigned,
) -> Scores:
    """The probability that messages are about each topic.

    A label that matches mostly the messages of a found topic gets that topic's members.
    """
    evidence = evidence_for(labels, label_vectors, chat, judge)
    likely, mentioned = judged(evidence, chat.vectors, judge)
    by_label = pooled(likely, chat.words.copies)
    members, others = list(assigned.members), list(assigned.others)
    for row, found in enumerate(members):
        if not len(found) and mentioned[row] >= MENTIONED:
            cut = cut_of(by_label[row], PROBABLY, sure=float(mentioned[row]))
            kept = np.flatnonzero(by_label[row] >= cut)
            if (fitting := _fitting(kept, others)) is not None:
                members[row] = others.pop(fitting)
    return with_members(
        labels,
        likely,
        chat.vectors,
        Assigned(members=members, others=others),
        chat.words.copies,
        weights=judge.weights.members,
        presence=mentioned,
    )


def _fitting(kept: Places, topics: Sequence[Places]) -> int | None:
    """The index of the found topic that fits the kept messages best; `None` if none fits well."""
    if not len(kept) or not topics:
        return None
    shared = [len(np.intersect1d(kept, members)) for members in topics]
    f1 = [2 * both / (len(kept) + len(m)) for both, m in zip(shared, topics, strict=True)]
    best = int(np.argmax(f1))
    return best if f1[best] >= _FITS else None
