"""Text that people don't see but a model reads: invisible characters and HTML comments.

In notes and messages of strangers it can carry instructions. It is reported but not removed: texts
are sent unchanged.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from smart_context.base.text.hidden import hidden_spans
from smart_context.base.text.names import DIRECTION
from smart_context.base.values import JsonObject

HiddenKind = Literal["invisible", "direction", "comment"]

SYSTEM_PROMPT = "the system prompt"

_COMMENT = "<!--"
_QUOTED = re.compile(
    r"^File: (?P<path>.+)\n--begin-(?P<token>\S+)--$"
    r'|^<(?P<mark>said[-\d]*) in="(?P<title>[^"\n]*)" .*>$',
    re.MULTILINE,
)
"""The beginning of a note, or of a message of another chat."""

_WORDS: dict[HiddenKind, tuple[str, str]] = {
    "invisible": ("invisible character", "invisible characters"),
    "direction": ("character that changes the direction", "characters that change the direction"),
    "comment": ("HTML comment", "HTML comments"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenText:
    """The hidden text of one kind in one text."""

    kind: HiddenKind
    count: int  # the number of characters, or of comments
    # the characters, such as `U+200B`, the most frequent first; empty for comments
    names: tuple[str, ...]
    position: int  # the position of the first one, in characters

    def __str__(self) -> str:
        """In words, such as `2 invisible characters (U+200B)`."""
        words = f"{self.count} {_WORDS[self.kind][self.count > 1]}"
        return f"{words} ({', '.join(self.names)})" if self.names else words


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenPlace:
    """A place in a request with hidden text."""

    where: str  # in words, or the path of a note
    hidden: HiddenText
    message_id: str = ""

    def to_dict(self) -> JsonObject:
        """The place as clients and receipts have it."""
        return {
            "where": self.where,
            "message_id": self.message_id,
            "what": str(self.hidden),
            "kind": self.hidden.kind,
            "count": self.hidden.count,
        }


def find_hidden_text(text: str) -> tuple[HiddenText, ...]:
    """The hidden text in a text, by kind; fast for the many texts without any.

    Characters that join, shape or order visible ones don't count where they have that effect.
    """
    if text.isascii() and _COMMENT not in text:
        return ()
    counts: Counter[str] = Counter()
    places: dict[str, int] = {}
    for place in (place for span in hidden_spans(text) for place in range(*span)):
        counts[text[place]] += 1
        places.setdefault(text[place], place)
    found: dict[HiddenKind, Counter[str]] = {}
    first: dict[HiddenKind, int] = {}
    for character, place in places.items():
        kind: HiddenKind = "direction" if character in DIRECTION else "invisible"
        found.setdefault(kind, Counter())[character] = counts[character]
        first.setdefault(kind, place)
    if comments := text.count(_COMMENT):
        found["comment"], first["comment"] = Counter({_COMMENT: comments}), text.index(_COMMENT)
    return tuple(
        HiddenText(kind=kind, count=count.total(), names=_names(kind, count), position=first[kind])
        for kind, count in sorted(found.items(), key=lambda each: first[each[0]])
    )


def hidden_places_in(system_prompt: str) -> list[HiddenPlace]:
    """The hidden text of a system prompt, with the note or chat that each piece is from."""
    return [
        HiddenPlace(where=where, hidden=hidden)
        for where, part in _by_source(system_prompt)
        for hidden in find_hidden_text(part)
    ]


def _names(kind: HiddenKind, count: Counter[str]) -> tuple[str, ...]:
    if kind == "comment":
        return ()
    return tuple(_name(character) for character, _ in count.most_common(4))


def _name(character: str) -> str:
    code = f"U+{ord(character):04X}"
    name = unicodedata.name(character, "")
    return f"{code} {name.lower()}" if name else code


def _by_source(text: str) -> Iterator[tuple[str, str]]:
    """The pieces of a system prompt, each with the note or chat that it comes from.

    The search continues after an end mark, so that a quoted text can't fake another's heading.
    """
    if text.isascii() and _COMMENT not in text:
        return
    rest = 0
    while heading := _QUOTED.search(text, rest):
        yield SYSTEM_PROMPT, text[rest : heading.start()]
        closing = f"</{heading['mark']}>" if heading["mark"] else f"--end-{heading['token']}--"
        end = text.find(closing, heading.end())
        end = len(text) if end < 0 else end
        where = f"the recalled chat {heading['title']}" if heading["mark"] else heading["path"]
        yield where, text[heading.end() : end]
        rest = end
    yield SYSTEM_PROMPT, text[rest:]
