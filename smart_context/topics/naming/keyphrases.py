"""Phrases of a chat that could name a topic, in scripts with spaces between words."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from smart_context.topics.naming.words import (
    NUMBER,
    Grammar,
    NounEvidence,
    Run,
    Token,
    TokenKind,
    is_capital,
    runs_of,
)

_MOST_WORDS = 3
_MOST_JOINING = 2
_SURE, _HALF_ASPECT = 0.3, 0.5
_UNLIKELY_MODIFIERS = ("ed", "ly", "er", "est")
_LONGEST_JOINED = 4
_FRAGMENT_SHARE = 0.74
_SINGULARS_IN_S = ("ss", "us", "is", "as")


@dataclass(slots=True)
class Phrase:
    """A candidate for a label."""

    words: tuple[str, ...]  # the stems of its words, equal for all spellings of the phrase
    spellings: Counter[str] = field(default_factory=Counter)  # its spellings, with their counts
    places: set[int] = field(default_factory=set)  # the messages that use it
    noun: float = 0.0  # the probability that its main word is a noun
    is_name: bool = False  # its words are capitalised like names
    is_spaced: bool = True  # its script puts spaces between words
    is_fragment: bool = False  # it is mostly used as part of one longer phrase
    aspect: float = 0.0  # the share of its words for properties of many things: 1 for `price`
    # it is a name only if it is used again: `community coming`, `sense of calm`
    is_loose: bool = False
    is_doubtful: bool = False  # it is one word that is rather a verb or an adjective
    has_compounds: bool = False  # in its language, two nouns side by side can be a name

    @property
    def text(self) -> str:
        """A spelling with inner capitals, else the most common; among equals, the shortest."""
        return min(
            self.spellings,
            key=lambda text: (text[1:] == text[1:].lower(), -self.spellings[text], len(text), text),
        )

    @property
    def is_plural(self) -> bool:
        """True if a word looks like an English plural."""
        text = self.text
        return not self.is_name and text.endswith("s") and not text.endswith(_SINGULARS_IN_S)


Span = tuple[Sequence[Token], str]
"""The tokens of a phrase, and its main word, lower-cased."""


def spaced_phrases(messages: Mapping[int, tuple[Sequence[Token], Grammar]]) -> list[Phrase]:
    """All candidates, with the positions of the messages that use them.

    Args:
        messages: Tokens and grammar of each message, by its position.
    """
    evidence = NounEvidence()
    for tokens, grammar in messages.values():
        evidence.read(tokens, grammar)
    found: dict[tuple[str, ...], Phrase] = {}
    for place, (tokens, grammar) in messages.items():
        for span, head in _spans(tokens, grammar, evidence):
            naming = [token.lower for token in span if token.kind is TokenKind.NAMING]
            words = tuple(grammar.key(word) for word in naming)
            phrase = found.setdefault(words, Phrase(words))
            phrase.spellings[_spelled(span)] += 1
            if len(naming) == 1 and (phrase.is_doubtful or not phrase.places):
                phrase.is_doubtful = evidence.is_doubtful(head, grammar)
            phrase.places.add(place)
            phrase.noun = max(phrase.noun, evidence.share(head, grammar))
            phrase.has_compounds = grammar.has_compounds
            phrase.aspect = _aspect(naming, grammar)
            phrase.is_loose = len(naming) > 1 and _is_loose(span, head, grammar, evidence)
            phrase.is_name = not grammar.has_capital_nouns and all(map(evidence.is_name, naming))
    phrases = [p for p in found.values() if len(p.places) > 1 or not p.is_loose]
    _mark_fragments(phrases)
    return phrases


def _aspect(naming: Sequence[str], grammar: Grammar) -> float:
    """1 if all words are aspects, a half if the main one is, else 0."""
    if grammar.aspect_words.issuperset(naming):
        return 1.0
    main = naming[0] if grammar.head_first else naming[-1]
    return _HALF_ASPECT if main in grammar.aspect_words else 0.0


def _spans(tokens: Sequence[Token], grammar: Grammar, evidence: NounEvidence) -> Iterator[Span]:
    shows_nouns = grammar.has_capital_nouns and any(map(is_capital, tokens))
    for run in runs_of(tokens):
        begin, end = run
        for place in range(begin, end):
            token = tokens[place]
            may_be_noun = is_capital(token) or not (
                shows_nouns or token.lower in grammar.adjectives
            )
            is_request = shows_nouns and evidence.is_other(token.lower)
            if may_be_noun and not is_request and not evidence.is_unit(token.lower):
                yield tokens[place : place + 1], token.lower
        if grammar.head_first:
            yield from _with_adjective(tokens, run, grammar, evidence)
        elif not grammar.has_capital_nouns:
            yield from _with_modifiers(tokens, run, grammar, evidence)
        yield from _joined(tokens, end, grammar, evidence)


def _with_modifiers(
    tokens: Sequence[Token], run: Run, grammar: Grammar, evidence: NounEvidence
) -> Iterator[Span]:
    """A noun with the words that modify it: `solar panels`."""
    begin, end = run
    last = tokens[end - 1]
    head = last.lower
    is_adjective = head in grammar.adjectives and not is_capital(last)
    if is_adjective or evidence.share(head, grammar) < _SURE:
        return
    for first in range(max(begin, end - _MOST_WORDS), end - 1):
        if _begins_name(tokens, first, begin, grammar, evidence) and all(
            _can_modify(token.lower, grammar, evidence) for token in tokens[first : end - 1]
        ):
            yield tokens[first:end], head


def _begins_name(
    tokens: Sequence[Token], first: int, begin: int, grammar: Grammar, evidence: NounEvidence
) -> bool:
    """True if a word can begin a name; at the start of a sentence, it is often a request."""
    word, before = tokens[first].lower, tokens[begin - 1]
    return (
        first > begin
        or grammar.introduces(before.lower)
        or before.lower == NUMBER
        or evidence.share(word, grammar) >= _SURE
        or (before.kind is TokenKind.STOP and not evidence.is_other(word))
    )


def _can_modify(word: str, grammar: Grammar, evidence: NounEvidence) -> bool:
    if grammar.modifier_endings and not evidence.is_name(word):
        return word.endswith(grammar.modifier_endings)
    is_inflected = word.isalpha() and word.endswith("s") and not word.endswith(_SINGULARS_IN_S)
    is_unlikely = is_inflected or word.endswith(_UNLIKELY_MODIFIERS)
    return not is_unlikely or evidence.share(word, grammar) >= _SURE


def _with_adjective(
    tokens: Sequence[Token], run: Run, grammar: Grammar, evidence: NounEvidence
) -> Iterator[Span]:
    """A noun and the adjective after it: `huerto urbano`."""
    begin, end = run
    if end - begin > 1 and evidence.share(tokens[begin].lower, grammar) >= _SURE:
        noun, other = tokens[begin : begin + 2]
        is_adjective = other.lower.endswith(grammar.adjective_endings)
        if not other.is_verb and (is_adjective or evidence.are_pair(noun.lower, other.lower)):
            yield tokens[begin : begin + 2], noun.lower


def _joined(
    tokens: Sequence[Token], end: int, grammar: Grammar, evidence: NounEvidence
) -> Iterator[Span]:
    """Two nouns with the words that join them: `pain au levain`."""
    for size in range(1, _MOST_JOINING + 1):
        joint = " ".join(token.lower for token in tokens[end : end + size])
        if joint not in grammar.joins:
            continue
        if joint in grammar.directions and tokens[end - 2].lower in grammar.prepositions:
            continue
        first, last = _name_around(tokens, end - 1, end + size, evidence)
        noun, other = tokens[end - 1], tokens[end + size]
        if evidence.is_unit(noun.lower) or evidence.is_unit(other.lower):
            continue
        is_noun = other.kind is TokenKind.NAMING and (
            not grammar.has_capital_nouns or is_capital(other)
        )
        if is_noun and all(evidence.share(word.lower, grammar) >= _SURE for word in (noun, other)):
            yield tokens[first : last + 1], noun.lower


def _name_around(
    tokens: Sequence[Token], first: int, last: int, evidence: NounEvidence
) -> tuple[int, int]:
    """The bounds of two joined nouns, extended to the whole of a capitalised name."""
    begin, end = first, last
    while tokens[begin - 1].kind is TokenKind.NAMING and evidence.is_name(tokens[begin - 1].lower):
        begin -= 1
    while tokens[end + 1].kind is TokenKind.NAMING and evidence.is_name(tokens[end + 1].lower):
        end += 1
    return (begin, end) if end - begin < _LONGEST_JOINED else (first, last)


def _is_loose(span: Sequence[Token], head: str, grammar: Grammar, evidence: NounEvidence) -> bool:
    """True if a phrase of several words is a name only if it is used again.

    Holds for phrases that end with a gerund. In languages that put nouns side by side, it also
    holds for nouns that are joined by words, except with a name: `capital of Canada`.
    """
    is_joined = any(token.kind is not TokenKind.NAMING for token in span)
    is_odd = is_joined and grammar.has_compounds and not evidence.is_name(span[-1].lower)
    return is_odd or (bool(grammar.gerund_endings) and head.endswith(grammar.gerund_endings))


def _spelled(tokens: Sequence[Token]) -> str:
    return " ".join(token.text for token in tokens).replace("' ", "'")


def _mark_fragments(phrases: Sequence[Phrase]) -> None:
    single = {phrase.words[0]: phrase for phrase in phrases if len(phrase.words) == 1}
    for phrase in phrases:
        if len(phrase.words) == 1 or len(phrase.places) == 1:
            continue
        for part in (single[word] for word in phrase.words if word in single):
            if len(phrase.places) > _FRAGMENT_SHARE * len(part.places):
                part.is_fragment = True
