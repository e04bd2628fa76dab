"""The list of chats, each distinguishable from all others, and the chats found by a search.

Pinned chats come first, then folders, then the others by date, and archived chats last.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from itertools import groupby
from typing import Any, Literal
from urllib.parse import quote

from smart_context.base.text.scores import counted
from smart_context.chat.copies import CONTINUED_FROM, FORKED_FROM, SPLIT_FROM, SPLITS
from smart_context.chat.listed.rows import ChatRow
from smart_context.chat.listed.search import MOST_HITS, ChatHit, marked, query_words
from smart_context.topics.identity import Colour, colours_of

_MOST_DOTS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatLine:
    """A chat in the list."""

    row: ChatRow
    # the time of its last change: the time of today, or the day; `?` if unknown. The page's script
    # shows it in the reader's language.
    when: str
    hues: tuple[Colour, ...]  # the colours of its topics, of the first ones if there are many
    more_topics: int  # the number of the others
    twin: str  # tells it from a chat of the same title, time and last words; mostly empty


GroupKind = Literal["pinned", "folder", "time", "archived"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatGroup:
    """Chats that are listed together."""

    kind: GroupKind
    name: str  # `Pinned`, a folder's name, `Today`, `Yesterday`, …, a month, or `Archived`
    lines: tuple[ChatLine, ...]  # the chats, newest first

    @property
    def folds(self) -> bool:
        """True if the group is closed at first."""
        return self.kind in {"folder", "archived"}


def chat_groups(rows: Sequence[ChatRow], now: datetime) -> tuple[ChatGroup, ...]:
    """The chats in their groups.

    Args:
        rows: The chats, newest first.
        now: The current time where the reader is.
    """
    placed = sorted(
        ((_place(line.row, now), line) for line in _lines(rows, now)), key=lambda entry: entry[0][0]
    )
    return tuple(
        ChatGroup(kind=kind, name=name, lines=tuple(line for _, line in found))
        for (_, kind, name), found in groupby(placed, lambda entry: entry[0])
    )


def _lines(rows: Sequence[ChatRow], now: datetime) -> list[ChatLine]:
    """The line of each chat; lines that look the same get an addition that tells them apart."""
    seen = Counter(_looks(row, now) for row in rows)
    return [_line(row, now, has_twin=seen[_looks(row, now)] > 1) for row in rows]


def _line(row: ChatRow, now: datetime, *, has_twin: bool) -> ChatLine:
    colours = tuple(colours_of((each, "") for each in row.topics).values())
    dots = len(colours) if len(colours) <= _MOST_DOTS else _MOST_DOTS - 1
    return ChatLine(
        row=row,
        when=_when(row, now),
        hues=colours[:dots],
        more_topics=len(colours) - dots,
        twin=f"{counted(row.message_count, 'message')}, {row.id[:6]}" if has_twin else "",
    )


def _place(row: ChatRow, now: datetime) -> tuple[tuple[int, str, str], GroupKind, str]:
    """The sort key of a chat's group, with the kind and name of the group."""
    if row.archived:
        return (3, "", ""), "archived", "Archived"
    if row.pinned:
        return (0, "", ""), "pinned", "Pinned"
    if row.folder:
        return (1, row.folder.casefold(), row.folder), "folder", row.folder
    return (2, "", ""), "time", _group(row, now)


def _looks(row: ChatRow, now: datetime) -> tuple[str, str, str]:
    return row.title, row.preview, _when(row, now)


def _when(row: ChatRow, now: datetime) -> str:
    written = _written(row, now)
    if written is None:
        return "?"
    if written.date() == now.date():
        return f"{written:%I:%M %p}".removeprefix("0")
    return f"{written:%b} {written.day}"


def _group(row: ChatRow, now: datetime) -> str:
    written = _written(row, now)
    return "Undated" if written is None else _name(written.date(), now.date())


def _written(row: ChatRow, now: datetime) -> datetime | None:
    """The time of a chat's last change, in the reader's zone; `None` if unknown."""
    try:
        return datetime.fromisoformat(row.updated_at).astimezone(now.tzinfo)
    except (ValueError, OverflowError):
        return None


def _name(day: date, today: date) -> str:
    days = (today - day).days
    names = ((0, "Today"), (1, "Yesterday"), (7, "Previous 7 days"), (30, "Previous 30 days"))
    for most, name in names:
        if days <= most:
            return name
    return f"{day:%B}" if day.year == today.year else f"{day:%B %Y}"


Pieces = list[tuple[str, bool]]
"""A text in pieces, each with True if it is a word of the query."""


@dataclass(frozen=True, slots=True)
class SearchedChat:
    """A chat in which a search found something."""

    chat_id: str
    title: Pieces
    line: ChatLine | None  # its line in the list of chats; `None` if it has just been removed
    hits: list[tuple[str, Pieces]] = field(default_factory=list)  # its messages, by their ids

    @property
    def is_named(self) -> bool:
        """True if the words are in its title."""
        return any(is_found for _, is_found in self.title)


def hits_view(
    hits: Sequence[ChatHit], query: str, rows: Sequence[ChatRow], now: datetime
) -> dict[str, Any]:
    """The values of `frame/chat_hits.html`: chats in the order of their first hit.

    Args:
        rows: The chats.
        now: The current time where the reader is.
    """
    words = query_words(query)
    named = {hit.chat_id for hit in hits}
    mine = [replace(row, preview="") for row in rows if row.id in named]  # it is not shown there
    lines = {line.row.id: line for line in _lines(mine, now)}
    found: dict[str, SearchedChat] = {}
    for hit in hits:
        line = lines.get(hit.chat_id)
        chat = found.setdefault(
            hit.chat_id, SearchedChat(hit.chat_id, [(hit.title, False)][: bool(hit.title)], line)
        )
        pieces = marked(hit.snippet, words)
        if hit.message_id:
            chat.hits.append((hit.message_id, pieces))
        else:
            chat.title[:] = pieces
    return {
        "found": list(found.values()),
        "count": sum(bool(hit.message_id) for hit in hits),
        "is_cut": len(hits) >= MOST_HITS,
        "query": query,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedChat:
    """Another chat with messages of this one."""

    chat_id: str  # its id
    title: str  # its title; empty if it is gone, or another's
    words: str  # its relation to this chat
    topics: str = ""  # the topics that were split off, in words; may be empty
    at: str = ""  # the place in it, as the end of its address; may be empty

    @property
    def is_there(self) -> bool:
        """True if the reader may open it."""
        return bool(self.title)


def relatives_of(document: Mapping[str, Any], titles: Mapping[str, str]) -> list[RelatedChat]:
    """The relatives of a chat: first its origins, then the chats split off, newest first.

    Args:
        titles: The titles of the chats that the reader may open.
    """
    return list(_found(document, titles))


def _found(document: Mapping[str, Any], titles: Mapping[str, str]) -> Iterator[RelatedChat]:
    copied_from = {"chat_id": document.get(CONTINUED_FROM)}
    origins = ("Split from", document.get(SPLIT_FROM)), ("Goes on from", document.get(FORKED_FROM))
    splits = document.get(SPLITS)
    left = reversed(splits) if isinstance(splits, list) else ()
    named = (*origins, ("Copied from", copied_from), *(("Split off:", split) for split in left))
    for words, link in named:
        if not isinstance(link, Mapping) or not isinstance(chat_id := link.get("chat_id"), str):
            continue
        topics, message = link.get("topics"), link.get("message_id")
        place = quote(message, safe="") if isinstance(message, str) else ""
        yield RelatedChat(
            chat_id=chat_id,
            title=(titles[chat_id] or "Untitled chat") if chat_id in titles else "",
            words=words,
            topics=", ".join(map(str, topics)) if isinstance(topics, list) else "",
            at=f"?at={place}#m-{place}" if place else "",
        )
