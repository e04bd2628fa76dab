"""Texts on which a regular expression may take longest, made from the expression itself."""

import re
from collections.abc import Callable, Iterator
from itertools import groupby, product
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as sre_parser  # type: ignore[attr-defined]

_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
_SPELLED = (sre.LITERAL, sre.RANGE)
_PROBES = "a A0_-.\n\t!\"'/()[]{}<>`~*#:,=@$%\\é我\x00\u200b"
_FAILURES = ("", "\n", "\x00", " \x00", "a", "\n\x00")
_MOST_SAMPLES = 3
_MANY = 8
_LONGEST_SAMPLE = 200
_CATEGORIES = {
    sre.CATEGORY_DIGIT: r"\d",
    sre.CATEGORY_NOT_DIGIT: r"\D",
    sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_NOT_SPACE: r"\S",
    sre.CATEGORY_WORD: r"\w",
    sre.CATEGORY_NOT_WORD: r"\W",
}

Text = Callable[[int], str]
"""A worst case of a given length."""


def worst_cases(pattern: re.Pattern) -> dict[tuple[str, str, str], Text]:
    """Texts that grow: a beginning, what is repeated, and an end on which the match fails."""
    tree = sre_parser.parse(pattern.pattern, pattern.flags)
    cases: dict[tuple[str, str, str], Text] = {}
    pieces: dict[str, None] = {}

    def add(before: str, pump: str, after: str) -> None:
        if pump:
            cases[before, pump, after] = lambda n: (
                before + pump * max(1, (n - len(before) - len(after)) // len(pump)) + after
            )

    for before, pump in _repeats(tree, ""):
        pieces[pump] = None
        if before:
            pieces[before] = None
        for after in _FAILURES:
            add(before, pump, after)
            add("", before + pump, after)
            add("", before, after)
    for literal in _literals(tree):
        pieces[literal] = None
        add("", literal, "")
        add("", literal, "\x00")
    for one, other in product(list(pieces)[:16], repeat=2):
        add("", one + other, "")
        add(one, other, "\x00")
    return cases


def _repeats(tree, before: str) -> Iterator[tuple[str, str]]:
    """Each part that may repeat often: what comes before it, and what it repeats."""
    for op, value in tree:
        if op in _REPEATS and (value[1] is sre.MAXREPEAT or value[1] >= _MANY):
            yield from ((before, sample) for sample in _samples(value[2]))
        for part in _parts(op, value):
            yield from _repeats(part, before)
        before += _sample((op, value))


def _literals(tree) -> Iterator[str]:
    """The characters that the pattern spells out, as long as they follow each other."""
    for is_literal, nodes in groupby(tree, key=lambda node: node[0] is sre.LITERAL):
        if is_literal:
            yield "".join(map(_sample, nodes))
        else:
            for op, value in nodes:
                for part in _parts(op, value):
                    yield from _literals(part)


def _parts(op, value) -> list:
    """The patterns inside a node."""
    if op is sre.BRANCH:
        return list(value[1])
    places = {sre.SUBPATTERN: -1, sre.ASSERT: 1, sre.ASSERT_NOT: 1, **dict.fromkeys(_REPEATS, 2)}
    if op is sre.ATOMIC_GROUP:
        return [value]
    return [value[places[op]]] if op in places else []


def _samples(tree) -> list[str]:
    """A few short strings that the tree matches, where it begins with a class or a choice."""
    nodes = list(tree)
    if not nodes:
        return []
    choices = _choices(nodes[0])[:_MOST_SAMPLES]
    rest = "".join(map(_sample, nodes[1:]))
    return [choice + rest for choice in choices]


def _choices(node) -> list[str]:
    op, value = node
    if op is sre.IN:
        own = [chr(v if kind is sre.LITERAL else v[0]) for kind, v in value if kind in _SPELLED]
        return list(dict.fromkeys(c for c in (*_PROBES, *own) if _is_in(c, value)))
    if op in (sre.BRANCH, sre.SUBPATTERN, sre.ATOMIC_GROUP):
        return [sample for part in _parts(op, value) for sample in _samples(part)]
    return [_sample(node)]


def _sample(node) -> str:
    """Something short that the node matches, if that is easily found."""
    op, value = node
    if op is sre.LITERAL:
        return chr(value)
    if op in (sre.ANY, sre.NOT_LITERAL):
        return "a" if value != ord("a") else "b"
    if op is sre.IN:
        return next(iter(_choices(node)), "")
    parts = [] if op in (sre.ASSERT, sre.ASSERT_NOT) else _parts(op, value)
    times = min(value[0], _LONGEST_SAMPLE) if op in _REPEATS else 1
    return "".join(map(_sample, parts[0])) * times if parts else ""


def _is_in(character: str, members) -> bool:
    negated, found = False, False
    for kind, value in members:
        if kind is sre.NEGATE:
            negated = True
        elif kind is sre.LITERAL:
            found |= ord(character) == value
        elif kind is sre.RANGE:
            found |= value[0] <= ord(character) <= value[1]
        elif kind is sre.CATEGORY:
            found |= re.match(_CATEGORIES[value], character) is not None
    return found != negated
