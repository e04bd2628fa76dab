"""Keys and tokens that have a form of their own, as `secret_kinds.tsv` lists them."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

_NOTHING = "-"
_LETTERS = {
    "hex": "[0-9a-fA-F]",
    "upper": "[0-9A-Z]",
    "alnum": "[0-9A-Za-z]",
    "url": r"[\w-]",
    "base64": r"[\w+/=-]",
}
_MORE = 64  # the letters of a long token that are checked: enough to tell it from a name
# A search for one character is fast. So the kinds with one of these in their prefixes are
# searched together, from that character on; the first one in this list counts.
_RARE = "_-.:~IJKGp"
# Such a character mostly begins a name without a digit. One check serves many kinds.
_GATE, _GATED = "(?=[A-Za-z_+/=-]{0,30}+[0-9])", 16

_DIGIT, _CAPITAL = re.compile(r"\d"), re.compile("[A-Z]")

_PLACEHOLDER = (
    r"example|dummy|fake|placeholder|change_?-?me|your[_-]?|x{4}|redacted|notreal|foobar|(.)\1{5}"
    r"|insert[_-]|replace[_-]|deadbeef|\*\*\*|\.\.\.|23456789?0?abcdef|(?-i:abcdefghijkl)"
)


def is_example(value: str) -> bool:
    """True for placeholders of keys in documents, and for well-known examples of keys."""
    return _examples().search(value) is not None


class _SecretKind(NamedTuple):
    """A line of the table, whose head explains the columns."""

    what: str
    prefixes: str
    before: str
    letters: str
    length: str
    then: str
    must: str
    source: str

    @property
    def tail(self) -> str:
        """The pattern of the text after the prefix."""
        least = int(self.length) if self.length != _NOTHING else 0
        letters = _LETTERS.get(self.letters, "")
        then = self.then if self.then != _NOTHING else ""
        if self.must == "exactly":
            return f"{letters}{{{least}}}{then or '(?![0-9A-Za-z])'}"
        return (f"{letters}{{{least},{least + _MORE}}}+" if letters else "") + then

    @property
    def is_gated(self) -> bool:
        """True if there are so many letters that one of them must be a digit."""
        return self.length != _NOTHING and int(self.length) >= _GATED


class _KindsTogether(NamedTuple):
    """The kinds that are searched together; each has a group of the pattern, in order."""

    pattern: re.Pattern[str]
    kinds: Sequence[_SecretKind]


def key_in(text: str) -> str:
    """The kind of the first key or token in a text; empty if none."""
    for group in _groups():
        for found in _all(group.pattern, text):
            kind = group.kinds[(found.lastindex or 1) - 1]
            if not _meets(kind.must, found[0]):  # checked first, since it costs less
                continue
            start = max(0, found.start() - _MORE)
            token = text[start : found.start()].rpartition("\n")[2].rpartition(" ")[2] + found[0]
            if not is_example(token):
                return kind.what
    return ""


def _all(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """The possible keys, also those that begin within another: `sk-` and `sk-or-v1-`."""
    at = 0
    while found := pattern.search(text, at):
        yield found
        at = found.start() + 1


def _meets(must: str, run: str) -> bool:
    """True if the letters can be those of a key, and not of a name."""
    if must not in {"digit", "varied"}:
        return True
    is_varied = must == "digit" or _CAPITAL.search(run) is not None or run[1:].isalnum()
    return is_varied and _DIGIT.search(run) is not None


@cache
def _groups() -> Sequence[_KindsTogether]:
    found: defaultdict[str, list[tuple[_SecretKind, bool, str]]] = defaultdict(list)
    for kind in _kinds():
        for (anchor, after), looks in _looks(kind).items():
            regex = f"(?={after})(?:{'|'.join(looks)}){after}({kind.tail})"
            found[anchor].append((kind, kind.is_gated and not after, regex))
    return [_group(anchor, kinds) for anchor, kinds in found.items()]


def _looks(kind: _SecretKind) -> dict[tuple[str, str], list[str]]:
    """The look-behinds before the rare character, by its group and the rest of the prefix."""
    found: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for prefix in kind.prefixes.split(" "):
        anchor = next(rare for rare in _RARE if rare in prefix)
        at = prefix.rindex(anchor)
        start = prefix[: at + 1]
        escaped = rf"(?<=\\[nrt]{start})"  # an escaped line end, as in code and JSON
        look = f"(?<={start})(?:(?<![0-9A-Za-z]{start})|{escaped})"
        if kind.before != _NOTHING:
            look = f"(?<={kind.before}{start})"
        found[anchor, prefix[at + 1 :]].append(look)
    return found


def _group(anchor: str, kinds: Sequence[tuple[_SecretKind, bool, str]]) -> _KindsTogether:
    free = [(kind, regex) for kind, is_gated, regex in kinds if not is_gated]
    gated = [(kind, regex) for kind, is_gated, regex in kinds if is_gated]
    behind_gate = "|".join(regex for _, regex in gated)
    ways = [*(regex for _, regex in free), *([f"{_GATE}(?:{behind_gate})"] if gated else [])]
    pattern = re.compile(f"{re.escape(anchor)}(?:{'|'.join(ways)})")
    return _KindsTogether(pattern, [kind for kind, _ in (*free, *gated)])


@cache
def _examples() -> re.Pattern[str]:
    known = "|".join(map(re.escape, _lines("secret_examples.txt")))
    return re.compile(f"(?i){_PLACEHOLDER}|{known}")


def _kinds() -> Iterator[_SecretKind]:
    for line in _lines("secret_kinds.tsv"):
        yield _SecretKind(*line.split("\t"))


def _lines(name: str) -> Iterator[str]:
    lines = Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()
    return (line for line in lines if not line.startswith("#"))
