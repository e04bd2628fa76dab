"""Gives each group of messages a label that a person might choose."""

import asyncio
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from smart_context.llm.models import Embedder, Matrix
from smart_context.topics.naming.candidates import (
    Candidate,
    Group,
    candidates_of,
    pairs_of,
    rank,
    with_nearness,
)
from smart_context.topics.naming.labels import clean_label, label_key
from smart_context.topics.naming.phrases import phrases_of
from smart_context.topics.stability import reused_labels

_READ = 120
_ASKED, _ANSWERED = 1.0, 0.7
_CONTRAST = 0.3


async def labels_of(
    texts: Sequence[str],
    vectors: Matrix,
    groups: Sequence[Sequence[int]],
    embedder: Embedder,
    *,
    is_answer: Sequence[bool] = (),
    previous: Sequence[str] = (),
) -> list[str]:
    """A label for each group; no two are equal.

    Args:
        texts: The chat's messages.
        vectors: Shape (n, d), their embeddings.
        groups: Positions of the messages of each group; none is empty.
        embedder: Made the vectors.
        is_answer: For each message, whether it is an answer: what people ask counts more.
        previous: Former labels; used again where they fit.

    Raises:
        ModelFailed: If the embedder fails.
    """
    groups = [_evenly(group, _READ) for group in groups]
    answers = frozenset(place for place, answer in enumerate(is_answer) if answer)
    centres = _centres(vectors, groups)
    labels = dict[int, str]()
    if previous:
        close = await embedder.embed(previous) @ centres.T
        labels = reused_labels(previous, close, texts, groups)
    unnamed = [number for number in range(len(groups)) if number not in labels]
    ranked = await _ranked(texts, groups, unnamed, centres, embedder, answers)
    for number, candidates in zip(unnamed, ranked, strict=True):
        labels[number] = _label(candidates, texts[groups[number][0]], labels.values())
    return [labels[number] for number in range(len(groups))]


async def _ranked(
    texts: Sequence[str],
    groups: Sequence[Sequence[int]],
    unnamed: Sequence[int],
    centres: Matrix,
    embedder: Embedder,
    answers: AbstractSet[int],
) -> list[list[Candidate]]:
    """For each of the `unnamed` groups its candidates, best first."""
    weighed = [_group(groups[number], answers) for number in unnamed]
    found = await asyncio.to_thread(_found, texts, groups, weighed, answers)
    found = await _with_nearness(found, unnamed, centres, embedder)
    pairs = [pairs_of(some, group) for some, group in zip(found, weighed, strict=True)]
    pairs = await _with_nearness(pairs, unnamed, centres, embedder)
    return [sorted(some + more, key=rank) for some, more in zip(found, pairs, strict=True)]


def _found(
    texts: Sequence[str],
    groups: Sequence[Sequence[int]],
    unnamed: Sequence[Group],
    answers: AbstractSet[int],
) -> list[list[Candidate]]:
    phrases = phrases_of(texts, groups, answers) if unnamed else []
    return [candidates_of(phrases, group) for group in unnamed]


async def _with_nearness(
    found: Sequence[Sequence[Candidate]],
    numbers: Sequence[int],
    centres: Matrix,
    embedder: Embedder,
) -> list[list[Candidate]]:
    texts = [candidate.text for some in found for candidate in some]
    if not texts:
        return [[] for _ in found]
    close = await embedder.embed(texts) @ centres.T
    judged: list[list[Candidate]] = []
    start = 0
    for number, some in zip(numbers, found, strict=True):
        mine = close[start : start + len(some)]
        judged.append(with_nearness(some, _nearness(mine, number)))
        start += len(some)
    return judged


def _nearness(close: Matrix, number: int) -> Matrix:
    others = np.delete(close, number, axis=1).max(axis=1, initial=0)
    return np.asarray(close[:, number] - np.float32(_CONTRAST) * others, dtype=np.float32)


def _evenly(group: Sequence[int], most: int) -> Sequence[int]:
    """At most so many of them, spread evenly."""
    return group[:: -(-len(group) // most)]


def _group(places: Sequence[int], answers: AbstractSet[int]) -> Group:
    weights = {place: _ANSWERED if place in answers else _ASKED for place in places}
    opening = next((place for place in places if place not in answers), places[0])
    return Group(weights=weights, opening=opening)


def _label(candidates: Sequence[Candidate], fallback: str, taken: Iterable[str]) -> str:
    keys = {label_key(label) for label in taken}
    for candidate in candidates:
        label = clean_label(candidate.text)
        if label and label_key(label) not in keys:
            return label
    return _numbered(clean_label(fallback) or "Topic", keys)


def _centres(vectors: Matrix, groups: Sequence[Sequence[int]]) -> Matrix:
    sums = np.stack([vectors[list(group)].sum(axis=0) for group in groups])
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.asarray(sums / np.where(lengths > 0, lengths, 1), dtype=np.float32)


def _numbered(label: str, keys: AbstractSet[str]) -> str:
    if label_key(label) not in keys:
        return label
    number = 2
    while label_key(f"{label} {number}") in keys:
        number += 1
    return f"{label} {number}"
