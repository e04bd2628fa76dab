"""What people don't see in a text but a model reads: invisible characters and comments.

Such things in notes and messages can carry instructions of a stranger. They are pointed out, not
taken away: what is sent stays what was written.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

UnseenKind = Literal["invisible", "direction", "comment"]

SYSTEM_PROMPT = "the system prompt"

_FLAG = "\U0001f3f4[\U000e0020-\U000e007f]+"  # flags such as Scotland's are written with tags
_UNSEEN = re.compile(
    f"(?P<flag>{_FLAG})"
    "|(?P<direction>[\u202a-\u202e\u2066-\u2069]+)"
    "|(?P<invisible>[\u00ad\u115f\u1160\u180e\u200b\u2060-\u2064\u206a-\u206f\u3164\ufeff\uffa0"
    "\U000e0000-\U000e007f]+)"
    "|(?P<comment><!--)"
)
_NOTE = re.compile(r"^File: (?P<path>.+)\n--begin-(?P<token>\S+)--$", re.MULTILINE)
_WORDS: dict[UnseenKind, tuple[str, str]] = {
    "invisible": ("invisible character", "invisible characters"),
    "direction": ("character that changes the direction", "characters that change the direction"),
    "comment": ("HTML comment", "HTML comments"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """What one text holds of a kind.

    Attributes:
        kind: What it is.
        count: How many characters, or comments.
        names: The characters, such as `U+200B`, the most frequent first; empty for comments.
        at: Where the first one is, counted in characters.
    """

    kind: UnseenKind
    count: int
    names: tuple[str, ...]
    at: int

    def __str__(self) -> str:
        """In words, such as `2 invisible characters (U+200B)`."""
        words = f"{self.count} {_WORDS[self.kind][self.count > 1]}"
        return f"{words} ({', '.join(self.names)})" if self.names else words


def unseen_in(text: str) -> tuple[Unseen, ...]:
    """What a text holds that people don't see; nothing mostly, and that is found out fast.

    Joiners and variation selectors are let pass: words and emoji are written with them.
    """
    if text.isascii() and "<!--" not in text:
        return ()
    found: dict[UnseenKind, Counter[str]] = {}
    first: dict[UnseenKind, int] = {}
    for match in _UNSEEN.finditer(text):
        kind = _kind_of(match)
        if kind is None:
            continue
        first.setdefault(kind, match.start())
        marks = ["<!--"] if kind == "comment" else match.group()
        found.setdefault(kind, Counter()).update(marks)
    return tuple(
        Unseen(kind=kind, count=count.total(), names=_names(kind, count), at=first[kind])
        for kind, count in found.items()
    )


def place(where: str, found: Unseen, message_id: str = "") -> dict[str, Any]:
    """One place for the wire."""
    return {
        "where": where,
        "message_id": message_id,
        "what": str(found),
        "kind": found.kind,
        "count": found.count,
    }


def note_places(text: str) -> list[dict[str, Any]]:
    """The places in a system prompt, each with the note that it is in."""
    return [place(where, found) for where, part in _by_note(text) for found in unseen_in(part)]


def _kind_of(match: re.Match[str]) -> UnseenKind | None:
    kinds: Iterable[UnseenKind] = ("direction", "invisible", "comment")
    return next((kind for kind in kinds if match.group(kind) is not None), None)


def _names(kind: UnseenKind, count: Counter[str]) -> tuple[str, ...]:
    if kind == "comment":
        return ()
    return tuple(_name(character) for character, _ in count.most_common(4))


def _name(character: str) -> str:
    code = f"U+{ord(character):04X}"
    name = unicodedata.name(character, "")
    return f"{code} {name.lower()}" if name else code


def _by_note(text: str) -> Iterator[tuple[str, str]]:
    """A system prompt in pieces, each under the note that it comes from.

    What looks like a heading inside a note is none: the search goes on after the note's end mark.
    """
    if text.isascii() and "<!--" not in text:
        return
    rest = 0
    while heading := _NOTE.search(text, rest):
        yield SYSTEM_PROMPT, text[rest : heading.start()]
        end = text.find(f"--end-{heading['token']}--", heading.end())
        end = len(text) if end < 0 else end
        yield heading["path"], text[heading.end() : end]
        rest = end
    yield SYSTEM_PROMPT, text[rest:]
