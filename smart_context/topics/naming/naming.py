"""Gives each group of messages a label that a person might choose."""

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType

import numpy as np

from smart_context.base.text.words import (
    UNSPACED_RUN,
    content_words,
    is_stop_word,
    spelled_words,
    stem,
)
from smart_context.llm.models import Embedder, Matrix
from smart_context.topics.clusters.units import at_unit_length
from smart_context.topics.naming.acceptance import accepted, is_said
from smart_context.topics.naming.candidates import (
    Candidate,
    MessagesToName,
    candidates_of,
    grammar_of_texts,
    pairs_of,
    phrases_of,
    rank,
    with_nearness,
)
from smart_context.topics.naming.labels import clean_label, label_key
from smart_context.topics.naming.unspaced import is_weak, unspaced_names

NAMELESS = "Topic"
"""The label of messages without a word that could name them: no title for a chat."""

_READ = 120
_ASKED, _ANSWERED = 1.0, 0.7
_CONTRAST = 0.3
_ONE_WORD = 0.12
"""The lead in score that a name of one word needs over one of several words."""

_ALIKE = 0.1
"""The most by which a name may score below the best to differ from another topic's name."""

_PLAIN_WORDS = 3
_MOST_TRIED = 100
"""The most words that are tried as the name of a nameless group; each is searched in its texts."""
_HANGUL = re.compile("[\uac00-\ud7a3]")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Talk:
    """The n messages of a chat, to find names in."""

    texts: Sequence[str]  # the texts that names are taken from
    vectors: Matrix  # shape (n, d), their embeddings
    # the messages as they were said, which show where words begin and end; `texts` if left out
    spoken: Sequence[str] = ()
    # for each message, True if it is an answer; questions count more
    is_answer: Sequence[bool] = ()
    # the lower-cased names of the speakers, which can't be labels
    speakers: AbstractSet[str] = frozenset()


async def labels_of(
    talk: Talk,
    groups: Sequence[Sequence[int]],
    embedder: Embedder,
    *,
    previous: Sequence[str] = (),
    taken: Sequence[str] = (),
    kept: Mapping[int, str] = MappingProxyType({}),
) -> list[str]:
    """A label for each group; no two are equal.

    Args:
        groups: Positions of the messages of each group; none is empty.
        previous: Labels of the last extraction, reused where they fit.
        kept: The labels of groups that have one already, by their number.

    Raises:
        ModelFailed: If the embedder fails.
    """
    texts, vectors = talk.texts, talk.vectors
    groups = [_evenly(group, _READ) for group in groups]
    free = [label for label in previous if label not in taken]
    centres = _centres(vectors, groups)
    labels = dict(kept)
    if free:
        close = await embedder.embed(free) @ centres.T
        labels = await asyncio.to_thread(reused_labels, free, close, texts, groups) | labels
    unnamed = [number for number in range(len(groups)) if number not in labels]
    ranked = await _ranked(talk, groups, unnamed, centres, embedder)
    new = dict(zip(unnamed, ranked, strict=True))
    return await asyncio.to_thread(_all_labels, talk, groups, new, labels, taken)


def _all_labels(
    talk: Talk,
    groups: Sequence[Sequence[int]],
    ranked: Mapping[int, Sequence[Candidate]],
    reused: Mapping[int, str],
    taken: Sequence[str],
) -> list[str]:
    """The label of each group: the reused one, or the best of its candidates."""
    labels = dict(reused)
    for number, candidates in ranked.items():
        said = [talk.texts[place] for place in groups[number]]
        labels[number] = _label(candidates, said, (*labels.values(), *taken), talk)
    return [labels[number] for number in range(len(groups))]


async def _ranked(
    talk: Talk,
    groups: Sequence[Sequence[int]],
    unnamed: Sequence[int],
    centres: Matrix,
    embedder: Embedder,
) -> list[list[Candidate]]:
    """The candidates of each of the `unnamed` groups, best first."""
    answers = frozenset(place for place, answer in enumerate(talk.is_answer) if answer)
    weighed = [_group(groups[number], answers) for number in unnamed]
    found = await asyncio.to_thread(_found, talk, groups, weighed, answers)
    found = await _with_nearness(found, unnamed, centres, embedder)
    pairs = [pairs_of(some, group) for some, group in zip(found, weighed, strict=True)]
    pairs = await _with_nearness(pairs, unnamed, centres, embedder)
    return [sorted(some + more, key=rank) for some, more in zip(found, pairs, strict=True)]


def _found(
    talk: Talk,
    groups: Sequence[Sequence[int]],
    unnamed: Sequence[MessagesToName],
    answers: AbstractSet[int],
) -> list[list[Candidate]]:
    phrases = phrases_of(talk.texts, groups, answers) if unnamed else []
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
    """At most `most` positions of the group, evenly spread."""
    return group[:: -(-len(group) // most)]


def _group(places: Sequence[int], answers: AbstractSet[int]) -> MessagesToName:
    weights = {place: _ANSWERED if place in answers else _ASKED for place in places}
    opening = next((place for place in places if place not in answers), places[0])
    return MessagesToName(weights=weights, opening=opening)


def _label(
    candidates: Sequence[Candidate],
    said: Sequence[str],
    others: Iterable[str],
    talk: Talk,
) -> str:
    """The best name of several words, or of one word if that is much better."""
    taken = {_label_words(label) for label in others}
    best: tuple[float, str] | None = None
    alike: tuple[float, str] | None = None
    for candidate, label in _accepted(candidates, said, talk):
        score = -rank(candidate)[0]
        if best and (score < best[0] - _ONE_WORD or _is_doubtful(candidate)):
            break
        words = _label_words(label)
        if alike and score < alike[0] - _ALIKE:
            break
        if any(words < other or other < words for other in taken):
            alike = alike or (score, label)
        elif words not in taken:
            if " " in label or not candidate.is_spaced:
                return label
            best = best or (score, label)
    if found := best or alike:
        return found[1]
    name = plain_name(said, talk.speakers, talk.spoken)
    return _numbered(name, {label_key(label) for label in others})


def _accepted(
    candidates: Sequence[Candidate], said: Sequence[str], talk: Talk
) -> Iterator[tuple[Candidate, str]]:
    """The candidates that may be labels, best first and doubtful ones last, with their labels."""
    for candidate in sorted(candidates, key=_is_doubtful):
        is_own = candidate.phrase is not None or "&" in candidate.text
        if is_own or is_said(candidate.text, said):
            label = accepted(candidate.text, talk.spoken or talk.texts, talk.speakers)
            if label:
                yield candidate, label


def _is_doubtful(candidate: Candidate) -> bool:
    """True if a word is hardly a noun; it becomes a name only if there is no other."""
    return candidate.phrase is not None and candidate.phrase.is_doubtful


def _label_words(label: str) -> frozenset[str]:
    """The stems of a label, equal for labels of the same words: `Family & Moments`."""
    return frozenset(stem(word) for word in label_key(label).split() if word != "&")


def plain_name(said: Sequence[str], speakers: AbstractSet[str], spoken: Sequence[str] = ()) -> str:
    """The first content words, for a group without a better name.

    Args:
        speakers: Names that are no subjects, in lower case.
        spoken: Texts that show where words begin and end; `said` if left out.
    """
    weak = grammar_of_texts(said[:_MOST_TRIED]).weak_words
    shown = spoken or said
    return (
        _plain_name(said, speakers, shown, weak) or _plain_name(said, speakers, shown) or NAMELESS
    )


def _plain_name(
    said: Sequence[str],
    speakers: AbstractSet[str],
    spoken: Sequence[str],
    skipped: AbstractSet[str] = frozenset(),
) -> str:
    tried: dict[str, str] = {}

    def label_of(word: str) -> str:
        if word not in tried:
            tried[word] = accepted(word, spoken, speakers) if len(tried) < _MOST_TRIED else ""
        return tried[word]

    for text in said:
        if label := next(filter(None, map(label_of, unspaced_names(text))), ""):
            return label
        if _HANGUL.match(text):
            return clean_label(" ".join(text.split()[:_PLAIN_WORDS]))
        content = (
            word
            for word in spelled_words(text)
            if not (is_stop_word(word) or is_weak(word) or word.isdigit() or word in skipped)
            and label_of(word)
        )
        words = list(islice(content, _PLAIN_WORDS))
        if words:
            if UNSPACED_RUN.match(words[0]):
                return label_of(words[0])  # a pair of characters, made whole
            return clean_label(" ".join(words))
    return ""


def _centres(vectors: Matrix, groups: Sequence[Sequence[int]]) -> Matrix:
    return at_unit_length(np.stack([vectors[list(group)].sum(axis=0) for group in groups]))


def _numbered(label: str, keys: AbstractSet[str]) -> str:
    if label_key(label) not in keys:
        return label
    number = 2
    while label_key(f"{label} {number}") in keys:
        number += 1
    return f"{label} {number}"


_FITS = 0.55
_MARGIN = 0.12
_WORDS = 0.5


def reused_labels(
    previous: Sequence[str],
    closeness: Matrix,
    texts: Sequence[str],
    groups: Sequence[Sequence[int]],
) -> dict[int, str]:
    """The previous labels that still fit, by group; each is used at most once.

    A label fits a group if it is close to it in meaning and words, and clearly closer than to the
    other groups.

    Args:
        closeness: Shape (len(previous), len(groups)): cosines of labels and groups' centres.
    """
    if not previous or not groups:
        return {}
    evidence = closeness + _WORDS * _word_shares(previous, texts, groups)
    ordered = np.sort(evidence, axis=1)
    second = ordered[:, -2] if len(groups) > 1 else np.full(len(previous), -np.inf)
    reused: dict[int, str] = {}
    for place in np.argsort(-ordered[:, -1], kind="stable"):
        group = int(evidence[place].argmax())
        best = evidence[place, group]
        if best >= _FITS and best - second[place] >= _MARGIN and group not in reused:
            reused[group] = previous[place]
    return reused


def _word_shares(
    labels: Sequence[str], texts: Sequence[str], groups: Sequence[Sequence[int]]
) -> Matrix:
    """Shape (labels, groups): the share of each group in the occurrences of a label's words."""
    words_of = [[frozenset(content_words(texts[place])) for place in group] for group in groups]
    shares = np.zeros((len(labels), len(groups)), dtype=np.float32)
    for row, label in enumerate(labels):
        wanted = frozenset(content_words(label))
        for column, messages in enumerate(words_of):
            shares[row, column] = sum(len(wanted & words) for words in messages)
    totals = shares.sum(axis=1, keepdims=True)
    return np.asarray(shares / np.where(totals > 0, totals, 1), dtype=np.float32)
