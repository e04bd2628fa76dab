"""Finds the phrases of a chat that could name its topics, in any language."""

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from smart_context.topics.naming.keyphrases import Phrase, spaced_phrases
from smart_context.topics.naming.unspaced import unspaced_phrases
from smart_context.topics.naming.words.grammar import Grammar
from smart_context.topics.naming.words.languages import grammar_of, grammars
from smart_context.topics.naming.words.tokens import Token, plain_text, tokens_of

_READ, _LONGEST, _SHORTEST = 300_000, 3_000, 200
_READ_FOR_LANGUAGE = 300
_FEW = 8
_TURKISH = re.compile("[ığ]")
"""Letters that tell Turkish where too few of its words are known."""

_DENSITY = 3
"""How many English characters carry as much meaning as one Chinese character."""


def phrases_of(
    texts: Sequence[str], groups: Sequence[Sequence[int]], answers: AbstractSet[int] = frozenset()
) -> list[Phrase]:
    """The candidates in the messages of `groups`, with the positions of the messages using them.

    Only the beginning of long messages is read, and less of each in larger groups.

    Args:
        texts: The chat's messages.
        groups: Positions; the messages of a group share a subject, and usually a language.
        answers: Positions of the answers.
    """
    plain: dict[int, str] = {}
    read: dict[int, tuple[list[Token], Grammar]] = {}
    most = max(_SHORTEST, min(_LONGEST, _READ // max(1, sum(map(len, groups)))))
    begin = [texts[place][:_READ_FOR_LANGUAGE] for group in groups for place in group[:_FEW]]
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
    """The grammar of the language of these texts, told by their beginnings."""
    beginnings = " ".join(text[:_READ_FOR_LANGUAGE] for text in texts)
    found = grammar_of(beginnings.lower().replace("'", "' ").split())
    is_turkish = not found.code and _TURKISH.search(beginnings)
    return grammars()["tr"] if is_turkish else found
