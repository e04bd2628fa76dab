"""The grammar of names in a language: the words before nouns and verbs, and between nouns."""

import re
from dataclasses import dataclass

from smart_context.base.text.words import stem

_SHORTEST_STEM = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """The signs of nouns in one language.

    Attributes:
        code: ISO 639-1; empty for an unknown language.
        stop_words: Words that are not part of a name, unless they join two nouns.
        weak_words: Stop words with a meaning; they count in a capitalised name.
        articles: Words before a noun, and after a verb.
        prepositions: Words before a noun or an infinitive.
        before_verbs: Words before a verb or an adjective.
        auxiliaries: Those of them that begin a question and precede its noun.
        expressions: Matches expressions whose nouns mean nothing: `of course`.
        joins: Words inside a name, between two nouns.
        noun_endings: Endings of probable nouns.
        other_endings: Endings of words that are probably not nouns.
        adjective_endings: Endings of adjectives that may follow their noun.
        infinitive_endings: Endings of verbs after a preposition.
        gerund_endings: Endings of verbs after a preposition, and of nouns after an article.
        verb_endings: Endings of verbs, which are never part of a name.
        inflections: Endings that are removed so that all forms of a noun are equal.
        head_first: The noun comes before the words that modify it.
        has_compounds: Two nouns side by side can be a name.
        has_capital_nouns: Nouns are capitalised.
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
    verb_endings: tuple[str, ...] = ()
    inflections: tuple[str, ...] = ()
    head_first: bool = False
    has_compounds: bool = False
    has_capital_nouns: bool = False

    def introduces(self, word: str) -> bool:
        """True if a noun, with or without modifiers, follows the lower-cased word."""
        return word in self.articles or word in self.prepositions

    def without_expressions(self, text: str) -> str:
        """The text with each fixed expression replaced by a break."""
        return self.expressions.sub(" . ", text) if self.expressions else text

    def key(self, word: str) -> str:
        """The stem of a lower-cased word, equal for all its forms."""
        if not self.inflections:
            return stem(word)
        for ending in self.inflections:
            if word.endswith(ending) and len(word) >= len(ending) + _SHORTEST_STEM:
                return word[: -len(ending)]
        return word
