"""The words of texts by the grammar of each language: tokens, and which of them are nouns."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import tomli

from smart_context.base.text.languages import language_of_words
from smart_context.base.text.word_lists import STOP_WORDS, STOP_WORDS_OF, word_lists
from smart_context.base.text.words import MARKS, UNSPACED_RUN, stem
from smart_context.base.values import JsonObject


@cache
def weak_words_of() -> Mapping[str, frozenset[str]]:
    """The weak words of each language by its ISO 639-1 code."""
    return word_lists(Path(__file__).with_name("weak_words.txt"))


@cache
def aspect_words_of() -> Mapping[str, frozenset[str]]:
    """The words of each language for properties of many things: `price`, `phone number`."""
    return word_lists(Path(__file__).with_name("aspect_words.txt"))


_SHORTEST_STEM = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """The signs of nouns in one language."""

    code: str  # ISO 639-1; empty for an unknown language
    stop_words: frozenset[str]  # words that are not part of a name, unless they join two nouns
    # stop words with a meaning; they count in a capitalised name
    weak_words: frozenset[str] = frozenset()
    aspect_words: frozenset[str] = frozenset()  # properties of many things: `price`
    articles: frozenset[str] = frozenset()  # words before a noun, and after a verb
    prepositions: frozenset[str] = frozenset()  # words before a noun or an infinitive
    postpositions: frozenset[str] = frozenset()  # words after a noun or an infinitive
    adjectives: frozenset[str] = frozenset()  # words that neither end a name nor are one
    before_verbs: frozenset[str] = frozenset()  # words before a verb or an adjective
    # the ones among them that begin a question and precede its noun
    auxiliaries: frozenset[str] = frozenset()
    # matches expressions whose nouns mean nothing: `of course`
    expressions: re.Pattern[str] | None = None
    joins: frozenset[str] = frozenset()  # words inside a name, between two nouns
    # the ones among them that may lead from one place to another: `von Köln nach Leipzig`
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


class TokenKind(Enum):
    """The role that a token can have."""

    NAMING = "may be part of a name"
    STOP = "serves grammar or says little"
    COMMA = "separates two phrases of a sentence"
    BREAK = "ends a sentence, or begins a quotation, a heading, a list"


class Token(NamedTuple):
    """A word or a break."""

    text: str  # the word as written
    lower: str  # the word in lower case
    kind: TokenKind  # its possible role
    is_verb: bool = False  # its form shows that it is a verb


Run = tuple[int, int]
"""The bounds of neighbouring words that may be part of a name."""

_COMMA = Token(",", ",", TokenKind.COMMA)
_BREAK = Token(".", ".", TokenKind.BREAK)


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
        is_weak = token.kind is TokenKind.STOP and token.lower in grammar.weak_words
        if is_weak and is_capital(token) and tokens[place - 1].kind is not TokenKind.BREAK:
            after = tokens[place + 1]
            named = tokens[place + 2] if after.lower in grammar.joins else after
            if is_capital(named):
                tokens[place] = token._replace(kind=TokenKind.NAMING)


def is_capital(token: Token) -> bool:
    """True if a word is capitalised."""
    return token.text[:1] != token.lower[:1]


def runs_of(tokens: Sequence[Token]) -> Iterator[Run]:
    """The runs of neighbouring words that may be part of a name; never at either end."""
    begin = 0
    for place, token in enumerate(tokens):
        if token.kind is not TokenKind.NAMING:
            if place > begin:
                yield begin, place
            begin = place + 1


def _words(word: str, grammar: Grammar) -> Iterator[Token]:
    """One token, or several in languages that contract words."""
    if grammar.head_first:
        begin = 0  # a long word is cut only once
        while elided := _ELISION.match(word, begin):
            yield Token(elided.group(), elided.group().lower(), TokenKind.STOP)
            begin = elided.end()
        word = word[begin:]
        if inverted := _INVERTED.search(word):
            yield _word(word[: inverted.start()], grammar, is_verb=True)
            yield Token(word[inverted.start() :], "", TokenKind.STOP)
            return
    elif grammar.parts_names and "'" in word:
        yield _word(word.partition("'")[0], grammar)
        yield _COMMA  # the ending closes the name: `Ankara'dan İzmir'e`
        return
    yield _word(word, grammar)


def _word(word: str, grammar: Grammar, *, is_verb: bool = False) -> Token:
    if word[:1].isdigit():
        return Token(word, NUMBER, TokenKind.STOP)
    lower = word.lower()
    can_name = (
        len(word) >= _SHORTEST_WORD
        and lower not in grammar.stop_words
        and not lower.endswith(grammar.verb_endings)
        and not _REFERENCE.fullmatch(word)
    )
    return Token(word, lower, TokenKind.NAMING if can_name else TokenKind.STOP, is_verb)


_LONGEST_RUN = 3
_AFTER_OTHER, _PERHAPS_VERB, _AT_BEGIN = 0.5, 0.15, 0.25
_FORM, _UNKNOWN = 0.5, 0.6
_DOUBT = 0.6


class NounEvidence:
    """Collects the evidence for and against each word being a noun.

    A word counts as a noun after an article or a preposition, or if it is written like a name; as
    another word after a pronoun or an auxiliary, or before an article.
    """

    def __init__(self) -> None:
        self._for: defaultdict[str, float] = defaultdict(float)
        self._against: defaultdict[str, float] = defaultdict(float)
        self._names: Counter[str] = Counter()
        self._inside: Counter[str] = Counter()
        self._counted: Counter[str] = Counter()
        self._seen: Counter[str] = Counter()
        self._pairs: Counter[tuple[str, str]] = Counter()

    def read(self, tokens: Sequence[Token], grammar: Grammar) -> None:
        """Add the evidence of one message."""
        shows_nouns = grammar.has_capital_nouns and any(map(is_capital, tokens))
        for run in runs_of(tokens):
            self._read_writing(tokens, run, shows_nouns=shows_nouns)
            if tokens[run[1]].lower in grammar.postpositions:
                last = tokens[run[1] - 1].lower
                self._for[last] += not last.endswith(grammar.infinitive_endings)
            elif _may_be_request(tokens, run, grammar):
                self._against[tokens[run[0]].lower] += _AFTER_OTHER
            elif grammar.head_first:
                self._read_head_first(tokens, run, grammar)
            else:
                self._read_head_last(tokens, run, grammar)

    def is_name(self, word: str) -> bool:
        """True if a lower-cased word is mostly capitalised inside sentences."""
        return 2 * self._names[word] > self._inside[word] > 0

    def is_unit(self, word: str) -> bool:
        """True if a lower-cased word mostly follows a number."""
        return 2 * self._counted[word] >= self._seen[word] > 0

    def is_other(self, word: str) -> bool:
        """True if a lower-cased word is mostly not a noun."""
        return self._against[word] > self._for[word]

    def is_doubtful(self, word: str, grammar: Grammar) -> bool:
        """True if a lower-cased word is hardly used like a noun, and looks like another word."""
        if word.endswith(grammar.doubtful_endings) and self._for[word] < 1:
            return True
        if self._for[word] or self._against[word]:
            return self.is_other(word)
        return word.endswith(grammar.infinitive_endings)

    def are_pair(self, noun: str, other: str) -> bool:
        """True if the second lower-cased word follows the first one more than once."""
        return self._pairs[noun, other] > 1

    def share(self, word: str, grammar: Grammar) -> float:
        """The probability that a lower-cased word is a noun in this chat."""
        if not grammar.code:
            return _UNKNOWN
        speaks_for = self._for[word] + _FORM * word.endswith(grammar.noun_endings)
        against = self._against[word] + _DOUBT
        if speaks_for == self._for[word]:
            against += _FORM * word.endswith(grammar.other_endings)
        return speaks_for / (speaks_for + against)

    def _read_writing(self, tokens: Sequence[Token], run: Run, *, shows_nouns: bool) -> None:
        begin, end = run
        self._counted[tokens[begin].lower] += tokens[begin - 1].lower == NUMBER
        for place in range(begin, end):
            token = tokens[place]
            word = token.lower
            has_inner_capital = token.text[1:] != word[1:]
            self._seen[word] += 1
            self._against[word] += 2 * token.is_verb
            if tokens[place - 1].kind is TokenKind.BREAK and not has_inner_capital:
                continue
            self._inside[word] += 1
            if has_inner_capital or token.text[0] != word[0]:
                self._names[word] += 1
                self._for[word] += 1
            elif shows_nouns:
                self._against[word] += 1

    def _read_head_last(self, tokens: Sequence[Token], run: Run, grammar: Grammar) -> None:
        begin, end = run
        first, last, size = tokens[begin].lower, tokens[end - 1].lower, end - begin
        before = tokens[begin - 1].lower
        takes_object = tokens[end].lower in grammar.articles or tokens[end].lower == NUMBER
        if grammar.introduces(before) or before == NUMBER:
            self._read_introduced(tokens, run, grammar, takes_object=takes_object)
        elif before in grammar.auxiliaries and tokens[begin - 2].kind is TokenKind.BREAK:
            self._for[first] += _AFTER_OTHER  # `Would melatonin help?`
        elif before in grammar.before_verbs:
            self._against[first] += 1
            if size > 1:
                self._for[last] += _AFTER_OTHER
        elif takes_object:
            self._against[last] += 1
        elif tokens[begin - 1].kind is not TokenKind.STOP and size <= _LONGEST_RUN:
            has_pronoun = tokens[end].lower in grammar.before_verbs - grammar.auxiliaries
            self._for[last] += _AT_BEGIN * (not has_pronoun)  # `Appreciate you!`

    def _read_introduced(
        self, tokens: Sequence[Token], run: Run, grammar: Grammar, *, takes_object: bool
    ) -> None:
        begin, end = run
        first, last, size = tokens[begin].lower, tokens[end - 1].lower, end - begin
        if size == 1:
            self._for[first] += _is_noun_alone(tokens, begin, grammar)
        elif grammar.modifier_endings:
            words = [token.lower for token in tokens[begin:end]]
            noun = next((w for w in words if not w.endswith(grammar.modifier_endings)), last)
            self._for[noun] += 1
            for word in words[words.index(noun) + 1 :]:
                self._against[word] += _AFTER_OTHER  # `onze puppy bijt`
        elif takes_object:
            self._against[last] += 1
            self._for[tokens[end - 2].lower] += _AFTER_OTHER
        elif size <= _LONGEST_RUN and not _modifies_weak(tokens, end - 1, grammar):
            may_be_verb = last.endswith("s") and not tokens[end - 2].lower.endswith("s")
            self._for[last] += _PERHAPS_VERB if may_be_verb else _AFTER_OTHER

    def _read_head_first(self, tokens: Sequence[Token], run: Run, grammar: Grammar) -> None:
        begin, end = run
        first, last = tokens[begin].lower, tokens[end - 1].lower
        before, after = tokens[begin - 1].lower, tokens[end].lower
        is_infinitive = before in grammar.prepositions and first.endswith(
            grammar.infinitive_endings
        )
        if is_infinitive or (before in grammar.before_verbs and before not in grammar.articles):
            self._against[first] += 1
        elif grammar.introduces(before) or before == NUMBER:
            self._for[first] += 1
        if end - begin > 1:
            self._pairs[first, tokens[begin + 1].lower] += 1
            self._against[last] += after in grammar.articles or after == NUMBER


def _may_be_request(tokens: Sequence[Token], run: Run, grammar: Grammar) -> bool:
    """True if a German word begins a sentence, and a noun or a pronoun follows: `Übe ab dem`."""
    begin, end = run
    after = tokens[end].lower
    is_first = end - begin == 1 and tokens[begin - 1].kind is TokenKind.BREAK
    is_followed = grammar.introduces(after) or after in grammar.before_verbs
    return grammar.has_capital_nouns and is_first and is_followed


def _is_noun_alone(tokens: Sequence[Token], place: int, grammar: Grammar) -> bool:
    """True if a single word after an article or a preposition is probably a noun."""
    is_gerund = tokens[place].lower.endswith(grammar.gerund_endings)
    is_verb = is_gerund and tokens[place - 1].lower in grammar.prepositions  # `of taking`
    return not is_verb and not _modifies_weak(tokens, place, grammar)


def _modifies_weak(tokens: Sequence[Token], place: int, grammar: Grammar) -> bool:
    """True if the word is an adjective in front of a noun that says little: `a positive change`."""
    is_adjective = tokens[place].lower.endswith(grammar.other_endings)
    return is_adjective and tokens[place + 1].lower in grammar.weak_words
