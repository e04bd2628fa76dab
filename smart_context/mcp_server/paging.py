"""Limits the results of tools to a number of tokens, with cursors to continue. Pure."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from smart_context.base.errors import InvalidParams
from smart_context.base.values import CountTokens, JsonObject

LEAST_TOKENS, DEFAULT_TOKENS, MOST_TOKENS = 100, 8_000, 100_000

_CHARACTERS_PER_TOKEN = 6
_LAST_LINES = 0.8
_NEXT = "next_cursor"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """The parts of a tool call that determine its pages."""

    tool: str
    # those that determine the rows; a cursor works only with the same ones
    arguments: Mapping[str, Any]
    cursor: str  # the beginning of the page; empty for the first one
    max_tokens: int  # the most tokens of the whole result as JSON

    @property
    def budget(self) -> int:
        """The most tokens of the result.

        Raises:
            InvalidParams: If `max_tokens` is too small.
        """
        if self.max_tokens < LEAST_TOKENS:
            raise InvalidParams(
                f"max_tokens: expected {LEAST_TOKENS} or more, found {self.max_tokens}"
            )
        return min(self.max_tokens, MOST_TOKENS)

    def place(self) -> tuple[int, int]:
        """The row and the character in it at which the page begins.

        Raises:
            InvalidParams: If the cursor belongs to another call.
        """
        if not self.cursor:
            return 0, 0
        try:
            row, character, digest = base64.urlsafe_b64decode(self.cursor).decode().split(":")
            place = int(row), int(character)
        except ValueError:
            place, digest = (-1, -1), ""
        if digest != self._digest() or min(place) < 0:
            raise InvalidParams(
                "cursor: expected the next_cursor of a call with the same arguments, found another;"
                " leave it out to begin anew"
            )
        return place

    def cursor_at(self, row: int, character: int = 0) -> str:
        """The cursor of the page that begins at this row and character."""
        plain = f"{row}:{character}:{self._digest()}"
        return base64.urlsafe_b64encode(plain.encode()).decode()

    def _digest(self) -> str:
        return hashlib.sha256(as_json([self.tool, dict(self.arguments)]).encode()).hexdigest()[:12]


def asked_for(tool: str, cursor: str, max_tokens: int, **arguments: Any) -> PageRequest:
    """A request with these arguments."""
    return PageRequest(tool=tool, arguments=arguments, cursor=cursor, max_tokens=max_tokens)


def page_of_rows(
    asked: PageRequest,
    head: Mapping[str, Any],
    name: str,
    rows: Sequence[JsonObject],
    count: CountTokens,
) -> JsonObject:
    """A page of rows below a head, with `next_cursor`: `None` at the end.

    A `content` that is too long by itself is cut and continues on the next page. Other fields that
    are too long are left out, and named in `left_out`. Keys that begin with `_` are private.

    Args:
        head: Goes with every page.

    Raises:
        InvalidParams: For a cursor of another call, or too small a budget.
    """
    row, character = asked.place()
    page = _slim(_public(head), asked.budget // 2, count)
    frame = {**page, name: [], _NEXT: asked.cursor_at(len(rows), 10**6)}
    room = asked.budget - count(as_json(frame))
    taken: list[JsonObject] = []
    following: str | None = None
    while row < len(rows):
        left = _public(rows[row])
        if character:
            left["content"] = left["content"][character:]
        tokens = count(as_json(left)) + 2
        if tokens <= room:
            taken.append(left)
            room, row, character = room - tokens, row + 1, 0
            continue
        if not taken:
            shown, length = _cut_row(left, room, count)
            taken.append(shown)
            row, character = (row, character + length) if length else (row + 1, 0)
        following = asked.cursor_at(row, character) if row < len(rows) else None
        break
    return {**page, name: taken, _NEXT: following}


def page_of_text(
    asked: PageRequest, head: Mapping[str, Any], text: str, count: CountTokens
) -> JsonObject:
    """A page of a text below a head, as `page_of_rows`; the text is in `text`."""
    _, character = asked.place()
    page = _slim(_public(head), asked.budget // 2, count)
    frame = {**page, "text": "", _NEXT: asked.cursor_at(0, 10**9)}
    room = asked.budget - count(as_json(frame))
    shown = _beginning(text[character:], room, count)
    after = character + len(shown)
    following = asked.cursor_at(0, after) if after < len(text) else None
    return {**page, "text": shown, _NEXT: following}


def _cut_row(row: JsonObject, room: int, count: CountTokens) -> tuple[JsonObject, int]:
    """A row that fits, and the number of characters taken of its content; 0 completes the row."""
    content = row.get("content")
    if not isinstance(content, str) or not content:
        return _slim(row, room, count), 0
    rest = _slim({**row, "content": "", "is_cut": True}, room // 2, count)
    shown = _beginning(content, room - count(as_json(rest)) - 2, count)
    return {**rest, "content": shown}, len(shown)


def _beginning(text: str, room: int, count: CountTokens) -> str:
    """As much of a text as fits, up to the end of a line if possible; at least one character."""
    length = min(len(text), max(1, room * _CHARACTERS_PER_TOKEN))
    while length > 1 and (tokens := count(as_json(text[:length]))) > room:
        length = max(1, min(length - 1, int(length * max(room, 1) / tokens * 0.97)))
    line = text.rfind("\n", int(length * _LAST_LINES), length) + 1
    return text[: line if line > 0 and length < len(text) else length]


def _slim(document: JsonObject, room: int, count: CountTokens) -> JsonObject:
    """The document, until it fits without its largest fields, which are named in `left_out`."""
    sizes = {name: count(as_json(value)) for name, value in document.items()}
    kept, left_out = dict(document), []
    while len(kept) > 1 and count(as_json(kept)) > room:
        largest = max(kept, key=lambda name: sizes[name])
        del kept[largest]
        left_out.append(largest)
    return {**kept, "left_out": sorted(left_out)} if left_out else kept


def _public(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _public(v) for k, v in value.items() if not str(k).startswith("_")}
    return [_public(entry) for entry in value] if isinstance(value, list | tuple) else value


def as_json(value: object) -> str:
    """The text in which results are sent and counted."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
