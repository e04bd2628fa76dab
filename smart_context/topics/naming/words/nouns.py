"""Tells which words of a chat are nouns, by how they are used there."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from smart_context.topics.naming.words.grammar import Grammar
from smart_context.topics.naming.words.tokens import (
    NUMBER,
    Kind,
    Run,
    Token,
    is_capital,
    runs_of,
)

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
            if tokens[place - 1].kind is Kind.BREAK and not has_inner_capital:
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
        elif before in grammar.auxiliaries and tokens[begin - 2].kind is Kind.BREAK:
            self._for[first] += _AFTER_OTHER  # `Would melatonin help?`
        elif before in grammar.before_verbs:
            self._against[first] += 1
            if size > 1:
                self._for[last] += _AFTER_OTHER
        elif takes_object:
            self._against[last] += 1
        elif tokens[begin - 1].kind is not Kind.STOP and size <= _LONGEST_RUN:
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
    is_first = end - begin == 1 and tokens[begin - 1].kind is Kind.BREAK
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
