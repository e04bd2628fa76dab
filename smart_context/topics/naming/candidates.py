"""The candidates for the name of a group of messages, with their weights."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import combinations

from smart_context.llm.models import Matrix
from smart_context.topics.naming.keyphrases import Phrase, spaced_phrases
from smart_context.topics.naming.unspaced import unspaced_phrases
from smart_context.topics.naming.words import (
    Grammar,
    Token,
    grammar_of,
    grammars,
    plain_text,
    tokens_of,
)

_READ, _LONGEST, _SHORTEST = 300_000, 3_000, 200
_READ_FOR_LANGUAGE = 300
_SAMPLED = 8
_TURKISH = re.compile("[ığ]")
"""Letters that identify Turkish in texts with few known Turkish words."""

_DENSITY = 3
"""The number of English characters with as much meaning as one Chinese character."""


def phrases_of(
    texts: Sequence[str], groups: Sequence[Sequence[int]], answers: AbstractSet[int] = frozenset()
) -> list[Phrase]:
    """The candidates in the messages of `groups`, with the positions of the messages using them.

    Only the beginning of long messages is read, and less of each in larger groups.

    Args:
        groups: Positions; the messages of a group share a subject, and usually a language.
    """
    plain: dict[int, str] = {}
    read: dict[int, tuple[list[Token], Grammar]] = {}
    most = max(_SHORTEST, min(_LONGEST, _READ // max(1, sum(map(len, groups)))))
    begin = [texts[place][:_READ_FOR_LANGUAGE] for group in groups for place in group[:_SAMPLED]]
    main = grammar_of_texts(begin)
    for group in groups:
        here = {place: plain_text(texts[place], most) for place in group}
        known = grammar_of_texts(list(here.values()))
        grammar = known if known.code else main
        read |= {place: (tokens_of(text, grammar), grammar) for place, text in here.items()}
        plain |= here
    asked = frozenset(plain).difference(answers)
    dense = {place: text[: max(_SHORTEST, most // _DENSITY)] for place, text in plain.items()}
    return [*spaced_phrases(read), *unspaced_phrases(dense, asked)]


def grammar_of_texts(texts: Sequence[str]) -> Grammar:
    """The grammar of the language of these texts, detected from their beginnings."""
    beginnings = " ".join(text[:_READ_FOR_LANGUAGE] for text in texts)
    found = grammar_of(beginnings.lower().replace("'", "' ").split())
    is_turkish = not found.code and _TURKISH.search(beginnings)
    return grammars()["tr"] if is_turkish else found


_PHRASES, _PAIRED = 24, 6
_COVER, _OWN, _NOUN, _OPENING, _NAME = 0.55, 0.2, 0.4, 0.16, 0.1
_SEVERAL, _REPEATED, _UNASKED, _FRAGMENT, _ASPECT = 0.2, 0.07, 0.12, 0.3, 0.33
_NEAR_UNSPACED, _CHARACTER, _LONG = 0.15, 0.05, 5
_UNION = 0.275
_COMPOUND, _AND, _AND_NAMES, _AND_UNSPACED = 0.01, -0.05, 0.08, -0.15
_SURE_NOUN, _TELLING = 0.4, 0.75
_FEW = 4
"""The weights of a name's parts; "Labels" in docs/relevance.md has what was tried, on 260 labels
that a reader judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesToName:
    """The messages to be named."""

    weights: Mapping[int, float]  # the weight of each message, by position; below 1 for an answer
    opening: int  # the position of the first question


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A phrase, or a pair of nouns."""

    text: str  # the name as shown
    words: tuple[str, ...]  # the stems of its words
    places: frozenset[int]  # the group's messages that use one of its words
    weight: float  # its score without nearness
    near: float = 0.0  # its score for nearness to the group
    phrase: Phrase | None = None  # its phrase; `None` for a pair
    is_spaced: bool = True  # its script puts spaces between words


Noun = tuple[Candidate, Phrase]
"""A candidate of one word, and its phrase."""


def candidates_of(phrases: Sequence[Phrase], group: MessagesToName) -> list[Candidate]:
    """The phrases with the largest weights, without nearness."""
    used = [phrase for phrase in phrases if not phrase.places.isdisjoint(group.weights)]
    single = {phrase.words[0]: phrase for phrase in used if len(phrase.words) == 1}
    found = [_candidate(phrase, single, group) for phrase in used]
    return sorted(found, key=rank)[:_PHRASES]


def pairs_of(candidates: Sequence[Candidate], group: MessagesToName) -> list[Candidate]:
    """Pairs of the best nouns, joined by `&`, or side by side where the language allows it."""
    nouns = [
        (candidate, candidate.phrase)
        for candidate in sorted(candidates, key=rank)
        if candidate.phrase and _can_pair(candidate, candidate.phrase, group)
    ][:_PAIRED]
    found: list[Candidate] = []
    for one, other in combinations(nouns, 2):
        if _overlap(one[0].words, other[0].words):
            continue
        found.append(_pair(one[0], other[0], _with_and(one, other), group))
        is_said_together = not one[0].places.isdisjoint(other[0].places)
        if one is nouns[0] and is_said_together and (compound := _compound(one, other)):
            found.append(_pair(one[0], other[0], (compound, _COMPOUND), group))
    return found


def with_nearness(candidates: Sequence[Candidate], nearness: Matrix) -> list[Candidate]:
    """The same candidates with their score for nearness.

    Args:
        candidates: Phrases, or pairs.
        nearness: Shape (n,): how much closer each is to this group than to the others.
    """
    return [
        replace(candidate, near=float(near) * _trust(candidate))
        for candidate, near in zip(candidates, nearness, strict=True)
    ]


def rank(candidate: Candidate) -> tuple[float, str]:
    """The sort key that puts the best candidate first."""
    return -candidate.weight - candidate.near, candidate.text


def _trust(candidate: Candidate) -> float:
    """The weight of nearness; models hardly know words of scripts without spaces."""
    return 1.0 if candidate.is_spaced else _NEAR_UNSPACED


def _candidate(phrase: Phrase, single: Mapping[str, Phrase], group: MessagesToName) -> Candidate:
    parts = [single.get(word, phrase) for word in phrase.words]
    inside = group.weights.keys()
    own = [len(part.places & inside) / len(part.places) for part in (*parts, phrase)]
    weight = (
        _COVER * sum(_cover(part.places, group) for part in parts) / len(parts)
        + _OWN * sum(own) / len(own)
        + _NOUN * phrase.noun
        + _OPENING * (group.opening in phrase.places)
        + _NAME * phrase.is_name
        - _FRAGMENT * phrase.is_fragment
        - _ASPECT * phrase.aspect
        + _shape(phrase, group)
    )
    places = frozenset(place for part in parts for place in part.places & inside)
    return Candidate(
        text=phrase.text,
        words=phrase.words,
        places=places,
        weight=weight,
        phrase=phrase,
        is_spaced=phrase.is_spaced,
    )


def _shape(phrase: Phrase, group: MessagesToName) -> float:
    """The weight of a phrase's form: several words say more, especially if repeated."""
    if not phrase.is_spaced:
        return _CHARACTER * (min(_LONG, len(phrase.text)) - 2)
    if len(phrase.words) == 1:
        return 0.0
    inside = phrase.places & group.weights.keys()
    is_asked = any(group.weights[place] >= 1 for place in inside)
    return _SEVERAL + _REPEATED * math.log2(len(inside)) - _UNASKED * (not is_asked)


def _cover(places: Collection[int], group: MessagesToName) -> float:
    share = sum(group.weights.get(place, 0) for place in places) / sum(group.weights.values())
    return math.sqrt(share)


def _can_pair(candidate: Candidate, phrase: Phrase, group: MessagesToName) -> bool:
    is_central = (
        len(candidate.places) > 1 or group.opening in candidate.places or len(group.weights) < _FEW
    )
    is_word = len(phrase.words) == 1 and not phrase.is_fragment
    return is_word and not phrase.is_doubtful and phrase.noun >= _SURE_NOUN and is_central


def _with_and(one: Noun, other: Noun) -> tuple[str, float]:
    text = f"{one[0].text} & {other[0].text}"
    if not (one[0].is_spaced and other[0].is_spaced):
        return text, _AND_UNSPACED
    return text, _AND_NAMES if one[1].is_name and other[1].is_name else _AND


def _compound(central: Noun, other: Noun) -> str | None:
    """A name of two nouns side by side; `None` unless the first is singular and telling."""
    is_swapped = other[1].is_name or central[1].is_plural
    first, second = (other, central) if is_swapped else (central, other)
    is_fit = (
        first[1].has_compounds
        and second[1].has_compounds
        and not first[1].is_plural
        and not second[1].is_name
        and first[0].near >= _TELLING * second[0].near
    )
    return f"{first[0].text} {second[0].text}" if is_fit else None


def _pair(
    one: Candidate, other: Candidate, joined: tuple[str, float], group: MessagesToName
) -> Candidate:
    text, extra = joined
    places = one.places | other.places
    apart = (_cover(one.places, group) + _cover(other.places, group)) / 2
    return Candidate(
        text=text,
        words=one.words + other.words,
        places=places,
        weight=(one.weight + other.weight) / 2 + _UNION * (_cover(places, group) - apart) + extra,
        is_spaced=one.is_spaced and other.is_spaced,
    )


def _overlap(one: Sequence[str], other: Sequence[str]) -> bool:
    return any(a in b or b in a for a in one for b in other)
