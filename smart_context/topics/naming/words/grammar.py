"""The grammars of names by language: the words before nouns and verbs, and between nouns."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

import tomli

from smart_context.base.text.languages import language_of_words
from smart_context.base.text.word_lists import STOP_WORDS, STOP_WORDS_OF, word_lists
from smart_context.base.text.words import stem
from smart_context.base.values import JsonObject


@cache
def weak_words_of() -> Mapping[str, frozenset[str]]:
    """The weak words of each language by its ISO 639-1 code."""
    return word_lists(Path(__file__).with_name("weak_words.txt"))


@cache
def aspect_words_of() -> Mapping[str, frozenset[str]]:
    """The words of each language for what is asked of many things: `price`, `phone number`."""
    return word_lists(Path(__file__).with_name("aspect_words.txt"))


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


_KNOWN_SHARE = 0.2
_SETS = ("articles", "prepositions", "postpositions", "before_verbs", "auxiliaries")
_WORDS = ("adjectives", "directions")
_ENDINGS = (
    *("noun_endings", "other_endings", "adjective_endings"),
    *("infinitive_endings", "gerund_endings", "doubtful_endings", "verb_endings"),
    *("modifier_endings", "inflections"),
)
_HABITS = ("head_first", "has_compounds", "has_capital_nouns", "parts_names")


@cache
def grammars() -> Mapping[str, Grammar]:
    """The grammar of each language by its ISO 639-1 code, from `grammars.toml`."""
    text = Path(__file__).with_name("grammars.toml").read_text(encoding="utf-8")
    tables = tomli.loads(text).items()
    return MappingProxyType({code: _grammar(code, table) for code, table in tables})


@cache
def unknown_grammar() -> Grammar:
    """The grammar of any other language: only the words that name nothing in any language."""
    return Grammar(
        code="",
        stop_words=STOP_WORDS.union(*weak_words_of().values()),
        aspect_words=frozenset().union(*aspect_words_of().values()),
    )


def _grammar(code: str, table: Mapping[str, str | bool]) -> Grammar:
    known = (*_SETS, *_WORDS, *_ENDINGS)
    words = {name: str(table.get(name, "")).split() for name in known}
    joins, expressions = (_phrases(table, name) for name in ("joins", "expressions"))
    fields: JsonObject = {
        **{name: frozenset(words[name]) for name in _SETS},
        **{name: tuple(words[name]) for name in _ENDINGS},
        **{name: bool(table.get(name)) for name in _HABITS},
        **{name: frozenset(words[name]) for name in _WORDS},
        "aspect_words": aspect_words_of().get(code, frozenset()),
        "joins": frozenset(joins),
        "expressions": re.compile(rf"\b(?:{'|'.join(expressions)})\b", re.IGNORECASE)
        if expressions
        else None,
    }
    fields["before_verbs"] |= fields["auxiliaries"]
    functions = STOP_WORDS_OF[code].union(*(words[name] for name in _SETS))
    weak_words = weak_words_of().get(code, frozenset()) - functions
    return Grammar(code=code, stop_words=functions | weak_words, weak_words=weak_words, **fields)


def _phrases(table: Mapping[str, str | bool], name: str) -> list[str]:
    return [
        " ".join(phrase.split()) for phrase in str(table.get(name, "")).split(",") if phrase.strip()
    ]


def grammar_of(words: Sequence[str]) -> Grammar:
    """The grammar of the language that these lower-cased words are most likely in."""
    if not words:
        return unknown_grammar()
    code = language_of_words(words, _KNOWN_SHARE)
    return grammars()[code] if code in grammars() else unknown_grammar()
