"""Gives each group of messages a label that a person might choose."""

import math
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from smart_context.llm.models import Embedder, Matrix
from smart_context.text.words import UNSPACED_RUN
from smart_context.topics.keyphrases import Phrase, phrases_of
from smart_context.topics.labels import clean_label, label_key
from smart_context.topics.stability import reused_labels

_CANDIDATES = 32
_PAIRED = 8
_READ = 200
_CONTRAST, _COVERAGE, _OWN, _NAME_LIKE, _SINGLE, _JOINED = 0.3, 0.5, 0.15, 0.05, 0.15, 0.04
_UNFIT_ENDINGS = ("ed", "ly")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What could name a group: a phrase, or two that say different things.

    Attributes:
        text: As it would be shown.
        words: The stems of its words.
        places: The group's messages that use one of them.
        close: By how much its meaning is nearer to this group than to the others.
        weight: All that speaks for it.
    """

    text: str
    words: frozenset[str]
    places: frozenset[int]
    close: float
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
    groups = [_evenly(group, _READ) for group in groups]
    phrases = phrases_of(texts, sorted(place for group in groups for place in group))
    chosen = [_most_used(phrases, frozenset(group)) for group in groups]
    asked = [*previous, *(phrase.text for some in chosen for phrase in some)]
    rows = await embedder.embed(asked) if asked else np.zeros((0, vectors.shape[1]), np.float32)
    close = rows @ _centres(vectors, groups).T
    labels = reused_labels(previous, close[: len(previous)], texts, groups)
    start = len(previous)
    for number, (group, some) in enumerate(zip(groups, chosen, strict=True)):
        mine = close[start : start + len(some)]
        start += len(some)
        if number not in labels:
            candidates = _candidates(some, mine, number, frozenset(group))
            labels[number] = _label(candidates, texts[group[0]], labels.values())
    return [labels[number] for number in range(len(groups))]


def _evenly(group: Sequence[int], most: int) -> Sequence[int]:
    """At most so many of them, spread evenly."""
    return group[:: -(-len(group) // most)]


def _most_used(phrases: Sequence[Phrase], group: frozenset[int]) -> list[Phrase]:
    """The phrases that the group uses most and the rest of the chat least."""

    def rank(phrase: Phrase) -> tuple[float, int, tuple[str, ...]]:
        inside = len(phrase.places & group)
        share = inside / len(phrase.places)
        weight = (0.25 + share) * math.log1p(inside) + 0.1 * (len(phrase.words) - 1)
        return -weight, min(phrase.places), phrase.words

    used = [phrase for phrase in phrases if phrase.places & group]
    return sorted(used, key=rank)[:_CANDIDATES]


def _candidates(
    phrases: Sequence[Phrase], close: Matrix, number: int, group: frozenset[int]
) -> list[Candidate]:
    """Each phrase, and pairs of the best single words, best first."""
    others = np.delete(close, number, axis=1).max(axis=1, initial=0)
    nearness = close[:, number] - np.float32(_CONTRAST) * others
    using = {p.words[0]: p.places & group for p in phrases if len(p.words) == 1}
    found = [
        _candidate(phrase, float(near), group, using)
        for phrase, near in zip(phrases, nearness, strict=True)
    ]
    singles = sorted((c for c in found if len(c.words) == 1), key=_rank)[:_PAIRED]
    pairs = [
        _joined(one, other, len(group))
        for one, other in combinations(singles, 2)
        if not _overlap(one.words, other.words)
    ]
    return sorted(found + pairs, key=_rank)


def _candidate(
    phrase: Phrase, close: float, group: frozenset[int], using: Mapping[str, AbstractSet[int]]
) -> Candidate:
    places = frozenset(phrase.places & group).union(*(using.get(w, ()) for w in phrase.words))
    text = phrase.text
    weight = close + _COVERAGE * len(places) / len(group)
    weight += _OWN * len(phrase.places & group) / len(phrase.places)
    weight += _NAME_LIKE * (text != text.lower())
    weight -= _NAME_LIKE * text.endswith(_UNFIT_ENDINGS)
    if len(phrase.words) == 1 and not UNSPACED_RUN.match(text):
        weight -= _SINGLE
    return Candidate(
        text=text, words=frozenset(phrase.words), places=places, close=close, weight=weight
    )


def _joined(one: Candidate, other: Candidate, size: int) -> Candidate:
    places = one.places | other.places
    return Candidate(
        text=f"{one.text} & {other.text}",
        words=one.words | other.words,
        places=places,
        close=(one.close + other.close) / 2,
        weight=(one.weight + other.weight) / 2
        + _SINGLE
        - _JOINED
        + _COVERAGE * (len(places) - (len(one.places) + len(other.places)) / 2) / size,
    )


def _rank(candidate: Candidate) -> tuple[float, str]:
    return -candidate.weight, candidate.text


def _overlap(one: AbstractSet[str], other: AbstractSet[str]) -> bool:
    return any(a in b or b in a for a in one for b in other)


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
