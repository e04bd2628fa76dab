"""The grammars of the known languages."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType

import tomli

from smart_context.base.text.languages import language_of_words
from smart_context.base.text.word_lists import STOP_WORDS, STOP_WORDS_OF
from smart_context.base.values import JsonObject
from smart_context.topics.naming.words.grammar import Grammar
from smart_context.topics.naming.words.weak_words import aspect_words_of, weak_words_of

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
