"""The outline of a note or canvas: links, headings, blocks and tags, with their positions."""

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from smart_context.vault.markdown.blocks import Blocks, Heading, Range, blocks_of
from smart_context.vault.markdown.front_matter import (
    front_matter_end,
    links_in_properties,
    names_in,
    properties_of,
    whole_characters,
)

MAX_PARTS: Final = 100_000
"""Most links, headings, blocks or tags that are read of a note; a hostile one may have millions."""


class Link(NamedTuple):
    """A link as it is written."""

    start: int  # its first character's position in the text
    end: int  # the position after its last character
    target: str  # the name, with `#heading` or `#^block`, without the alias


class Block(NamedTuple):
    """A block with a name: the name without `^`, and the block's start and end."""

    name: str
    start: int
    end: int


class Outline(NamedTuple):
    """The parts of a text that the index stores."""

    length: int  # in characters
    links: tuple[Link, ...] = ()  # in the order of the text, links of the properties first
    headings: tuple[Heading, ...] = ()  # in the order of the text
    blocks: tuple[Block, ...] = ()  # in the order of the text
    tags: tuple[str, ...] = ()  # without `#`, each once, as first written
    aliases: tuple[str, ...] = ()  # other names of the note
    body: int = 0  # the start of the text after the properties; 0 without properties
    embeds: tuple[int, ...] = ()  # the positions of embeds in `links`
    # ranges that embedded notes exclude, each with its pattern; never stored: it is an option
    excluded: tuple[tuple[int, int, str], ...] = ()

    @classmethod
    def from_json(cls, stored: list[Any]) -> "Outline":
        """An outline from its parsed JSON."""
        length, links, headings, blocks, tags, aliases, body, embeds = stored
        return cls(
            length,
            tuple(map(Link._make, links)),
            tuple(map(Heading._make, headings)),
            tuple(map(Block._make, blocks)),
            tuple(tags),
            tuple(aliases),
            body,
            tuple(embeds),
        )


# Possessive repetitions only, so that each pattern is linear in any text.
_WIKI_LINK = re.compile(r"\[\[([^\[\]\n|]++)(?:\|(?>(?:[^\[\]\n]++|\[(?!\[)|\](?!\]))*))?\]\]")
_MARKDOWN_LINK = re.compile(
    r"\]\([ \t]*+(?:<([^<>\n]*+)>|([^\s()<>]*+(?:\([^\s()]*+\)[^\s()]*+)*))"
    r"(?:[ \t]++(?:\"[^\"\n]*+\"|'[^'\n]*+'))?[ \t]*+\)"
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*+:|//")
_TAG = re.compile(r"#([^\s!-,.:-@\[-^`{-~\u2000-\u206f\u3000-\u303f]++)")
_BLOCK_NAME = re.compile(r"\^([A-Za-z0-9-]++)[ \t]*+(?=\r?\n|\Z)")
_CLOSES_BLOCK = re.compile(r"[ \t]*+(?:\r?\n|\Z)| {0,3}#{1,6}(?![^ \t\r\n])")
_OPENS_BLOCK = re.compile(rf"{_CLOSES_BLOCK.pattern}|[ \t>]*+(?:[-*+]|[0-9]{{1,9}}[.)])[ \t]")
_TEXT_BEFORE_LINK = 2_000


def outline_of(text: str) -> Outline:
    """The outline of a Markdown text; never fails."""
    body = front_matter_end(text)
    lines = text.replace("\r\n", " \n").replace("\r", "\n") if "\r" in text else text
    blocks = blocks_of(lines, body, MAX_PARTS)
    headings = [*_headings_in_properties(text, lines, body), *blocks.headings]
    prose = _prose_of(lines, blocks, body)
    links = _links(prose, body)
    tags = _tags(prose, body) if "#" in prose else []
    aliases: tuple[str, ...] = ()
    if body:
        links = [*_property_links(text, body), *links]
        if "tag" in text[:body] or "alias" in text[:body]:
            properties = properties_of(text)
            aliases = names_in(properties, "aliases", "alias")
            named = names_in(properties, "tags", "tag")
            tags = [*(tag.removeprefix("#") for tag in named), *tags]
    return Outline(
        len(text),
        tuple(links),
        tuple(headings[:MAX_PARTS]),
        tuple(islice(_blocks(prose, body), MAX_PARTS)) if "^" in prose else (),
        tuple(dict.fromkeys(tags)),
        aliases,
        body,
        _embeds(prose, links) if "![" in prose else (),
    )


def _headings_in_properties(text: str, lines: str, body: int) -> list[Heading]:
    """The headings between two rules at the top of a note, if the lines are not properties."""
    if "\n#" not in lines[:body] or properties_of(text):
        return []
    between = lines[:body].rstrip().rstrip("-.")
    found = blocks_of(between, between.index("\n") + 1, MAX_PARTS).headings
    return [heading._replace(within=0) for heading in found]


def _links(prose: str, body: int) -> list[Link]:
    links = list(islice(_wiki_links(prose, body), MAX_PARTS))
    if "(" in prose and "](" in prose:
        links += _markdown_links(prose, body)
        links.sort()
    return links


def _wiki_links(prose: str, body: int) -> Iterator[Link]:
    """The matches of `_WIKI_LINK`; several times faster for plain links."""
    start = prose.find("[[", body)
    while start >= 0:
        closing = prose.find("]]", start)
        if closing < 0:
            return
        inside, end = prose[start + 2 : closing], closing + 2
        if "[" in inside or "]" in inside or "\n" in inside:
            found = _WIKI_LINK.search(prose, start)
            if found is None:
                return
            inside, (start, end) = found[1], found.span()
        if target := _wiki_target(inside.partition("|")[0]):
            yield Link(start, end, target)
        start = prose.find("[[", end)


def _embeds(prose: str, links: list[Link]) -> tuple[int, ...]:
    return tuple(
        position for position, link in enumerate(links) if prose[link.start - 1 : link.start] == "!"
    )


def _markdown_links(prose: str, body: int) -> Iterator[Link]:
    for found in islice(_MARKDOWN_LINK.finditer(prose, body), MAX_PARTS):
        target = _markdown_target(found)
        start = prose.rfind("[", max(body, found.start() - _TEXT_BEFORE_LINK), found.start())
        if target and start >= 0 and "\n\n" not in prose[start : found.start()]:
            yield Link(start, found.end(), target)


def _property_links(text: str, body: int) -> Iterator[Link]:
    for start, end, inside in links_in_properties(text, body):
        if target := _wiki_target(inside.split("|", 1)[0]):
            yield Link(start, end, target)


def _wiki_target(written: str) -> str:
    return written.removesuffix("\\").strip()


def _markdown_target(found: re.Match[str]) -> str:
    written = found[1] if found[1] is not None else found[2]
    if not written or _SCHEME.match(written):
        return ""
    return unquote(written).strip() if "%" in written else written


def _tags(prose: str, body: int) -> list[str]:
    return [
        found[1]
        for found in islice(_TAG.finditer(prose, body), MAX_PARTS)
        if (found.start() == 0 or prose[found.start() - 1].isspace()) and not found[1].isdigit()
    ]


def _blocks(prose: str, body: int) -> Iterator[Block]:
    """The named blocks; each starts with its paragraph, after the previous block."""
    block = (body, body)
    floor = body
    for found in _BLOCK_NAME.finditer(prose, body):
        end, name = found.end(), found.start()
        line = _line_start(prose, name, floor)
        is_alone = not prose[line:name].strip()  # then it names the block before it
        if not is_alone and not prose[name - 1].isspace():
            continue
        if is_alone:
            end = line
            while end > floor and prose[end - 1].isspace():
                end -= 1
        if end > floor:
            block = (_block_start(prose, end, floor), end)
        floor = found.end()
        yield Block(found[1], *block)


def _block_start(prose: str, end: int, floor: int) -> int:
    start = _line_start(prose, end, floor)
    while start > floor and not _OPENS_BLOCK.match(prose, start):
        previous = _line_start(prose, start - 1, floor)
        if _CLOSES_BLOCK.match(prose, previous):
            break
        start = previous
    return start


def _line_start(prose: str, position: int, floor: int) -> int:
    return max(prose.rfind("\n", floor, position) + 1, floor)


_STRING = re.compile(r'"(?:[^"\\]++|\\.?)*+"?', re.DOTALL)


def canvas_outline(text: str) -> Outline:
    """The outline of a `.canvas` file: file cards, and links and tags of text cards.

    A link's position is that of its card's text in the file. An invalid canvas has no links.
    """
    links: list[Link] = []
    tags: dict[str, None] = {}
    cards = _cards(text)
    places = _places(text) if cards else {}
    for card in cards:
        if card.get("type") == "file" and isinstance(card.get("file"), str) and card["file"]:
            subpath = card.get("subpath")
            target = card["file"] + (subpath if isinstance(subpath, str) else "")
            links.append(Link(*_place(places, card["file"]), whole_characters(target)))
        elif card.get("type") == "text" and isinstance(card.get("text"), str):
            place = _place(places, card["text"])
            inner = outline_of(whole_characters(card["text"]))
            links += (Link(*place, link.target) for link in inner.links)
            tags |= dict.fromkeys(inner.tags)
    return Outline(len(text), tuple(links), tags=tuple(tags))


def _cards(text: str) -> list[dict[str, Any]]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return []
    cards = document.get("nodes") if isinstance(document, dict) else None
    return [card for card in cards if isinstance(card, dict)] if isinstance(cards, list) else []


def _places(text: str) -> dict[str, int]:
    """The first position of each JSON string, found in one pass for all cards."""
    places: dict[str, int] = {}
    for found in _STRING.finditer(text):
        places.setdefault(found[0], found.start())
    return places


def _place(places: Mapping[str, int], value: str) -> tuple[int, int]:
    for written in (json.dumps(value, ensure_ascii=False), json.dumps(value)):
        if written in places:
            return places[written], places[written] + len(written)
    return 0, 0


# Possessive repetitions only: a pattern that backtracks could be made slow by a note.
_SPECIAL = re.compile(r"\\.|``*+|\$\$?|%%|<!--|\[\[", re.DOTALL)
_WHOLE_LINK = re.compile(r"\[\[[^\[\]\n]++\]\]")
_BLANK_LINE = re.compile(r"\n[ \t>]*+\n")
_MATH_END = re.compile(r"(?<=[^\s\\])\$(?![0-9])")
_BACKTICKS = re.compile(r"``*+")
_PIECES_AT_ONCE = 10_000  # a text made of marks has millions
_CLOSINGS = {"$$": "$$", "%%": "%%", "<!--": "-->"}


def _blanked(text: str, ranges: Iterable[Range]) -> str:
    """The text with spaces in place of the ranges; positions don't change."""
    whole: list[str] = []
    pieces: list[str] = []
    position = 0
    for begin, end in ranges:
        pieces += (text[position:begin], " " * (end - begin))
        position = end
        if len(pieces) > _PIECES_AT_ONCE:
            whole.append("".join(pieces))
            pieces.clear()
    pieces.append(text[position:])
    return "".join(whole + pieces)


def _prose_of(text: str, blocks: Blocks, start: int) -> str:
    """The text with everything but prose blanked out; positions don't change.

    Args:
        start: The start of the body; the text before it is unchanged.
    """
    if blocks.hidden:
        text = _blanked(text, blocks.hidden)
    if _may_hold_more_than_prose(text):
        text = _blanked(text, _Scan(text, blocks.bounds).ranges(start))
    return text


def _may_hold_more_than_prose(text: str) -> bool:
    """True if there may be markup; fast, as it looks for single characters first."""
    return (
        "`" in text
        or "\\" in text
        or "$" in text
        or ("%" in text and "%%" in text)
        or ("<" in text and "<!--" in text)
    )


class _Scan:
    """One pass over the inline markup of a text, linear in its length for any text."""

    def __init__(self, text: str, bounds: Sequence[int]) -> None:
        self._text = text
        self._bounds = bounds
        self._nearest: dict[str, int] = {}
        self._paragraph_end = self._blank_line = -1
        self._no_math_before = -1
        self._runs: dict[int, list[int]] | None = None

    def ranges(self, start: int) -> Iterator[Range]:
        position = start
        while mark := _SPECIAL.search(self._text, position):
            begin, position = mark.span()
            run = mark[0]
            if run == "[[":
                link = _WHOLE_LINK.match(self._text, begin)
                position = link.end() if link else begin + 1
                continue
            end = position if run[0] == "\\" else self._end(run, begin, position)
            if end is not None:
                yield begin, end
                position = end

    def _end(self, run: str, begin: int, after: int) -> int | None:
        limit = self._paragraph(begin)
        if run == "$":
            return self._end_of_math(after, limit)
        if run[0] == "`":
            return self._end_of_code(run, after, limit)
        closing = _CLOSINGS[run]
        end = self._next(closing, after) + len(closing)
        return end if end <= limit else None

    def _paragraph(self, position: int) -> int:
        """The end of the paragraph around a position."""
        if position >= self._paragraph_end:
            if position > self._blank_line:
                blank = _BLANK_LINE.search(self._text, position)
                self._blank_line = blank.start() if blank else len(self._text)
            place = bisect_right(self._bounds, position)
            self._paragraph_end = min([self._blank_line, *self._bounds[place : place + 1]])
        return self._paragraph_end

    def _next(self, mark: str, after: int) -> int:
        """The next mark's position, or the text's end; called from left to right."""
        if self._nearest.get(mark, -1) < after:
            found = self._text.find(mark, after)
            self._nearest[mark] = found if found >= 0 else len(self._text)
        return self._nearest[mark]

    def _end_of_math(self, after: int, limit: int) -> int | None:
        following = self._text[after : after + 1]
        if not following or following.isspace() or after <= self._no_math_before:
            return None
        closing = _MATH_END.search(self._text, after, limit)
        if closing is None:
            self._no_math_before = limit
            return None
        return closing.end()

    def _end_of_code(self, run: str, after: int, limit: int) -> int | None:
        if self._runs is None:
            self._runs = {}
            for found in _BACKTICKS.finditer(self._text, after):
                self._runs.setdefault(len(found[0]), []).append(found.start())
        starts = self._runs.get(len(run), [])
        index = bisect_left(starts, after)
        if index == len(starts) or starts[index] >= limit:
            return None
        return starts[index] + len(run)
