"""Gives each group of messages a label that a person might choose."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from smart_context.llm.models import Embedder, Matrix
from smart_context.topics.keyphrases import Phrase, phrases_of
from smart_context.topics.labels import clean_label, label_key
from smart_context.topics.stability import reused_labels

_CANDIDATES = 40
_MOST_LABEL_WORDS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A phrase as the name of one group.

    Attributes:
        phrase: The phrase.
        inside: How many of the group's messages use it.
        weight: How telling it is by counting alone.
    """

    phrase: Phrase
    inside: int
    weight: float


async def labels_of(
    texts: Sequence[str],
    vectors: Matrix,
    groups: Sequence[Sequence[int]],
    embedder: Embedder,
    *,
    previous: Sequence[str] = (),
) -> list[str]:
    """A label for each group; no two are equal.

    Args:
        texts: The chat's messages.
        vectors: Shape (n, d), their embeddings.
        groups: Positions of the messages of each group; none is empty.
        embedder: Made the vectors.
        previous: Former labels; used again where they fit.

    Raises:
        ModelFailed: If the embedder fails.
    """
    phrases = phrases_of(texts)
    candidates = [_candidates(phrases, group) for group in groups]
    centres = _centres(vectors, groups)
    wanted = [candidate.phrase.text for found in candidates for candidate in found]
    asked = [*previous, *wanted]
    rows = await embedder.embed(asked) if asked else np.zeros((0, vectors.shape[1]), np.float32)
    close = rows @ centres.T
    reused = reused_labels(previous, close[: len(previous)], texts, groups)
    labels: list[str] = []
    start = len(previous)
    for number, found in enumerate(candidates):
        mine = close[start : start + len(found)]
        start += len(found)
        if number in reused:
            labels.append(reused[number])
            continue
        others = np.delete(mine, number, axis=1).max(axis=1, initial=0)
        scores = [
            float(mine[place, number] - 0.3 * others[place]) + candidate.weight
            for place, candidate in enumerate(found)
        ]
        labels.append(_label(found, scores, texts, groups[number], [*labels, *reused.values()]))
    return labels


def _candidates(phrases: Sequence[Phrase], group: Sequence[int]) -> list[Candidate]:
    members = set(group)
    found = []
    for phrase in phrases:
        inside = len(phrase.places & members)
        if inside:
            share = inside / len(phrase.places)
            often = math.log1p(inside) / math.log1p(len(members))
            weight = 0.25 * share + 0.35 * often + 0.06 * (len(phrase.words) - 1)
            found.append(Candidate(phrase=phrase, inside=inside, weight=weight))
    found.sort(key=lambda c: (-c.weight, min(c.phrase.places), c.phrase.words))
    return found[:_CANDIDATES]


def _centres(vectors: Matrix, groups: Sequence[Sequence[int]]) -> Matrix:
    sums = np.stack([vectors[list(group)].sum(axis=0) for group in groups])
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.asarray(sums / np.where(lengths > 0, lengths, 1), dtype=np.float32)


def _label(
    found: Sequence[Candidate],
    scores: Sequence[float],
    texts: Sequence[str],
    group: Sequence[int],
    taken: Sequence[str],
) -> str:
    """The best phrase; a single word is joined with the next best that says something else."""
    order = sorted(range(len(found)), key=lambda place: -scores[place])
    keys = {label_key(label) for label in taken}
    for rank, place in enumerate(order):
        first = found[place].phrase
        label = clean_label(first.text)
        if len(first.words) == 1:
            second = _partner(first, [found[other].phrase for other in order[rank + 1 :]])
            label = clean_label(f"{first.text} & {second.text}") if second else label
        if label and label_key(label) not in keys:
            return label
    return _numbered(clean_label(texts[group[0]]) or "Topic", keys)


def _partner(first: Phrase, others: Sequence[Phrase]) -> Phrase | None:
    for other in others:
        words = set(other.words)
        if len(words) < _MOST_LABEL_WORDS - 1 and not _overlap(first, other):
            return other
    return None


def _overlap(one: Phrase, other: Phrase) -> bool:
    return any(a in b or b in a for a in one.words for b in other.words)


def _numbered(label: str, keys: set[str]) -> str:
    if label_key(label) not in keys:
        return label
    number = 2
    while label_key(f"{label} {number}") in keys:
        number += 1
    return f"{label} {number}"
