"""How names look in a language: what stands before a noun, what before a verb, how words join."""

import re
from dataclasses import dataclass

from smart_context.text.words import stem

_SHORTEST_STEM = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """What tells nouns from other words, for one language.

    Attributes:
        code: ISO 639-1; empty for a language that is not known.
        stop_words: Words that are no part of a name, unless they join two nouns.
        weak_words: Those of them that mean something; in a name with capitals they count.
        articles: What stands before a noun, and after a verb.
        prepositions: What stands before a noun, or before an infinitive.
        before_verbs: After these comes a verb or an adjective.
        auxiliaries: Those of them that a question begins with, its noun after it.
        expressions: Finds expressions whose nouns mean nothing: `of course`.
        joins: What may stand inside a name, between two nouns.
        noun_endings: Of words that are probably nouns.
        other_endings: Of words that are probably none, unless they are used as such.
        adjective_endings: Of words that may follow a noun and belong to it.
        infinitive_endings: Of verbs after a preposition.
        gerund_endings: Of words that are verbs after a preposition, and nouns after an article.
        inflections: Endings to be taken off so that a noun's cases and numbers meet.
        head_first: The noun comes first, what tells more of it after it.
        has_compounds: Two nouns side by side are one name.
        has_capital_nouns: Nouns are written with a capital.
    """

    code: str
    stop_words: frozenset[str]
    weak_words: frozenset[str] = frozenset()
    articles: frozenset[str] = frozenset()
    prepositions: frozenset[str] = frozenset()
    before_verbs: frozenset[str] = frozenset()
    auxiliaries: frozenset[str] = frozenset()
    expressions: re.Pattern[str] | None = None
    joins: frozenset[str] = frozenset()
    noun_endings: tuple[str, ...] = ()
    other_endings: tuple[str, ...] = ()
    adjective_endings: tuple[str, ...] = ()
    infinitive_endings: tuple[str, ...] = ()
    gerund_endings: tuple[str, ...] = ()
    inflections: tuple[str, ...] = ()
    head_first: bool = False
    has_compounds: bool = False
    has_capital_nouns: bool = False

    def introduces(self, word: str) -> bool:
        """Whether a noun, with or without what tells more of it, follows the lower-cased word."""
        return word in self.articles or word in self.prepositions

    def without_expressions(self, text: str) -> str:
        """The text with a break for each fixed expression."""
        return self.expressions.sub(" . ", text) if self.expressions else text

    def key(self, word: str) -> str:
        """What all forms of a lower-cased word have in common."""
        if not self.inflections:
            return stem(word)
        for ending in self.inflections:
            if word.endswith(ending) and len(word) >= len(ending) + _SHORTEST_STEM:
                return word[: -len(ending)]
        return word
