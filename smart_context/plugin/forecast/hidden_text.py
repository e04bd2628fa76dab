"""What people don't see in a text but a model reads: invisible characters and comments.

Such things in notes and messages can carry instructions of a stranger. They are pointed out, not
taken away: what is sent stays what was written.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from smart_context.text.hidden import DIRECTION, hidden_spans

UnseenKind = Literal["invisible", "direction", "comment"]

SYSTEM_PROMPT = "the system prompt"

_COMMENT = "<!--"
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

    Characters that join, shape or order what is seen are let pass where they do so.
    """
    if text.isascii() and _COMMENT not in text:
        return ()
    found: dict[UnseenKind, Counter[str]] = {}
    first: dict[UnseenKind, int] = {}
    for start, end in hidden_spans(text):
        for character, count in Counter(text[start:end]).items():
            kind: UnseenKind = "direction" if character in DIRECTION else "invisible"
            found.setdefault(kind, Counter())[character] += count
            first.setdefault(kind, text.index(character, start))
    if comments := text.count(_COMMENT):
        found["comment"], first["comment"] = Counter({_COMMENT: comments}), text.index(_COMMENT)
    return tuple(
        Unseen(kind=kind, count=count.total(), names=_names(kind, count), at=first[kind])
        for kind, count in sorted(found.items(), key=lambda each: first[each[0]])
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
    if text.isascii() and _COMMENT not in text:
        return
    rest = 0
    while heading := _NOTE.search(text, rest):
        yield SYSTEM_PROMPT, text[rest : heading.start()]
        end = text.find(f"--end-{heading['token']}--", heading.end())
        end = len(text) if end < 0 else end
        yield heading["path"], text[heading.end() : end]
        rest = end
    yield SYSTEM_PROMPT, text[rest:]
