"""Splits a message into tokens: words that may be part of a name, other words, breaks."""

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from smart_context.base.text.words import MARKS, UNSPACED_RUN
from smart_context.topics.naming.words.grammar import Grammar

NUMBER = "0"
"""The lower-cased form of every number."""

_SHORTEST_WORD = 2
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+|www\.\S+", re.DOTALL)
_TOKEN = re.compile(
    rf"(?P<word>[^\W_](?:[\w'{MARKS}-]|[.#](?=\w))*(?:\+\+|#)?)|(?P<comma>[,;/&+])|(?P<break>[^\w\s]|\n)"
)
_UNPARTED = re.compile(r"(?<=[a-z][.!?])(?=[A-Z][a-z])")
"""Between two sentences without a space: `booked.Your`."""

_REFERENCE = re.compile(r"(?=.{6})[A-Z]{1,2}\d{4,}|(?=.{6})(?=\w*\d[A-Z])[A-Z]+\d[A-Z\d]*")
"""`TR9635`, `WBB6XXRP`: a booking reference, not a name."""

_ELISION = re.compile(
    r"(?:[ldjmnstc]|qu|un|jusqu|lorsqu|puisqu|[dnsc]?[ae]ll|sull|dall|quest|quell)'(?=..)",
    re.IGNORECASE,
)
_INVERTED = re.compile(
    r"(?:-t)?-(?:je|tu|ils?|elles?|on|nous|vous|ce|moi|toi|les?|la|lui|y|en)$", re.IGNORECASE
)


class Kind(Enum):
    """The role that a token can have."""

    NAMING = "may be part of a name"
    STOP = "serves grammar or says little"
    COMMA = "separates two phrases of a sentence"
    BREAK = "ends a sentence, or begins a quotation, a heading, a list"


class Token(NamedTuple):
    """A word or a break."""

    text: str  # the word as written
    lower: str  # the word in lower case
    kind: Kind  # its possible role
    is_verb: bool = False  # its form shows that it is a verb


Run = tuple[int, int]
"""The bounds of neighbouring words that may be part of a name."""

_COMMA = Token(",", ",", Kind.COMMA)
_BREAK = Token(".", ".", Kind.BREAK)


def plain_text(text: str, most: int) -> str:
    """The first `most` characters without code and addresses, with plain apostrophes."""
    without_code = _CODE.sub(" . ", text[:most]).replace("\u2019", "'")
    return _UNPARTED.sub(" ", without_code)


def tokens_of(plain: str, grammar: Grammar) -> list[Token]:
    """The words and breaks of a plain text, in order, between two breaks on either side.

    Stretches in scripts without spaces count as breaks.
    """
    found = [_BREAK, _BREAK]
    said = grammar.without_expressions(UNSPACED_RUN.sub(" . ", plain))
    for match in _TOKEN.finditer(said):
        if match.lastgroup == "word":
            found.extend(_words(match.group(), grammar))
        else:
            found.append(_COMMA if match.lastgroup == "comma" else _BREAK)
    found += (_BREAK, _BREAK)
    if not grammar.has_capital_nouns:
        _join_names(found, grammar)
    return found


def _join_names(tokens: list[Token], grammar: Grammar) -> None:
    """Make capitalised weak words part of a name: `Great` in `the Great Wall`."""
    for place in range(2, len(tokens) - 2):
        token = tokens[place]
        is_weak = token.kind is Kind.STOP and token.lower in grammar.weak_words
        if is_weak and is_capital(token) and tokens[place - 1].kind is not Kind.BREAK:
            after = tokens[place + 1]
            named = tokens[place + 2] if after.lower in grammar.joins else after
            if is_capital(named):
                tokens[place] = token._replace(kind=Kind.NAMING)


def is_capital(token: Token) -> bool:
    """True if a word is capitalised."""
    return token.text[:1] != token.lower[:1]


def runs_of(tokens: Sequence[Token]) -> Iterator[Run]:
    """The runs of neighbouring words that may be part of a name; never at either end."""
    begin = 0
    for place, token in enumerate(tokens):
        if token.kind is not Kind.NAMING:
            if place > begin:
                yield begin, place
            begin = place + 1


def _words(word: str, grammar: Grammar) -> Iterator[Token]:
    """One token, or several in languages that contract words."""
    if grammar.head_first:
        begin = 0  # a long word is cut only once
        while elided := _ELISION.match(word, begin):
            yield Token(elided.group(), elided.group().lower(), Kind.STOP)
            begin = elided.end()
        word = word[begin:]
        if inverted := _INVERTED.search(word):
            yield _word(word[: inverted.start()], grammar, is_verb=True)
            yield Token(word[inverted.start() :], "", Kind.STOP)
            return
    elif grammar.parts_names and "'" in word:
        yield _word(word.partition("'")[0], grammar)
        yield _COMMA  # the ending closes the name: `Ankara'dan İzmir'e`
        return
    yield _word(word, grammar)


def _word(word: str, grammar: Grammar, *, is_verb: bool = False) -> Token:
    if word[:1].isdigit():
        return Token(word, NUMBER, Kind.STOP)
    lower = word.lower()
    can_name = (
        len(word) >= _SHORTEST_WORD
        and lower not in grammar.stop_words
        and not lower.endswith(grammar.verb_endings)
        and not _REFERENCE.fullmatch(word)
    )
    return Token(word, lower, Kind.NAMING if can_name else Kind.STOP, is_verb)
