"""The grammar of names in a language: the words before nouns and verbs, and between nouns."""

import re
from dataclasses import dataclass

from smart_context.base.text.words import stem

_SHORTEST_STEM = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """The signs of nouns in one language."""

    code: str  # ISO 639-1; empty for an unknown language
    stop_words: frozenset[str]  # words that are not part of a name, unless they join two nouns
    # stop words with a meaning; they count in a capitalised name
    weak_words: frozenset[str] = frozenset()
    aspect_words: frozenset[str] = frozenset()  # what is asked of many things: `price`
    articles: frozenset[str] = frozenset()  # words before a noun, and after a verb
    prepositions: frozenset[str] = frozenset()  # words before a noun or an infinitive
    postpositions: frozenset[str] = frozenset()  # words after a noun or an infinitive
    adjectives: frozenset[str] = frozenset()  # words that neither end a name nor are one
    before_verbs: frozenset[str] = frozenset()  # words before a verb or an adjective
    # those of them that begin a question and precede its noun
    auxiliaries: frozenset[str] = frozenset()
    # matches expressions whose nouns mean nothing: `of course`
    expressions: re.Pattern[str] | None = None
    joins: frozenset[str] = frozenset()  # words inside a name, between two nouns
    # those of them that may lead from one place to another: `von Köln nach Leipzig`
    directions: frozenset[str] = frozenset()
    noun_endings: tuple[str, ...] = ()  # endings of probable nouns
    other_endings: tuple[str, ...] = ()  # endings of words that are probably not nouns
    adjective_endings: tuple[str, ...] = ()  # endings of adjectives that may follow their noun
    infinitive_endings: tuple[str, ...] = ()  # endings of verbs after a preposition
    # endings of verbs after a preposition, and of nouns after an article
    gerund_endings: tuple[str, ...] = ()
    # endings of words that are hardly nouns, unless they are used like one
    doubtful_endings: tuple[str, ...] = ()
    verb_endings: tuple[str, ...] = ()  # endings of verbs, which are never part of a name
    # endings of words that may modify the noun after them; none: any word may
    modifier_endings: tuple[str, ...] = ()
    # endings that are removed so that all forms of a noun are equal
    inflections: tuple[str, ...] = ()
    head_first: bool = False  # the noun comes before the words that modify it
    has_compounds: bool = False  # two nouns side by side can be a name
    has_capital_nouns: bool = False  # nouns are capitalised
    parts_names: bool = False  # an apostrophe parts a name from its ending: `Ankara'dan`

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
