"""The rows of the list of chats. Pure."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Protocol

from smart_context.base.errors import InvalidParams
from smart_context.base.text.typed import question_in
from smart_context.base.times import moment_of
from smart_context.base.values import OWNER, JsonObject, PersonId
from smart_context.chat.copies import FORKED_FROM, SPLIT_FROM
from smart_context.chat.documents.document import Version
from smart_context.chat.documents.ownership import OWNED_BY, Ownership, ownership_of
from smart_context.chat.messages import SOURCE, ChatId, Message

UNTITLED = "New chat"
TITLE_LENGTH = 60
PREVIEW_LENGTH = 120
MOST_OF_A_ROW = 12
"""The most topics in one row: as many as there are hues."""
MOST_LISTED = 200
"""The most deleted chats in one list, the newest first."""
_LONGEST_TITLE = 200  # another program may have written a longer one
_LOOKED_AT = 2_000  # characters; a message or title may hold millions of lines
_MARKDOWN = re.compile(
    r"^[ \t]*+(?:"
    r"(?:```|~~~).*$"  # a fence
    r"|[-=*_|:][-=*_|: \t]{2,}+$"  # a rule, or the line below a heading or a table's head
    r"|\[[^\[\]\n]{1,100}\]:[ \t]+<?https?:.*$"  # the definition of a link
    r"|\[\^[^\[\]\s]{1,50}\]:[ \t]*"  # a footnote
    r"|\|[ \t]*"
    r"|(?:(?:#{1,6}|[-*+])[ \t]+|>[ \t]*)++(?:\[(?:[ xX]|![\w-]{1,30})\][+-]?[ \t]+)?"
    r")|\[\^[^\[\]\s]{1,50}\]|\*\*|`|!?\[\[(?:[^\[\]\n|]{1,200}\|)?|\]\]"
    r"|(?:(?<![ \t])[ \t]++)?+\|[ \t]*+$",
    re.MULTILINE,
)
"""Markdown marks that only clutter a line of plain text."""
_LINK = re.compile(
    r"(?<![\w\])])!?\[([^\[\]\n]{1,200})\]"
    r"(?:\((?:[^()\n]|\([^()\n]{0,100}\)){0,500}\)|\[[^\[\]\n]{0,100}\])"
    r"|<(https?://[^\s<>]{1,500})>"
)
_PAIRED = re.compile(r"(?<![\w`~=_\\])(__|~~|==)(?=\S)([^~=_\n]{1,200})(?<=\S)\1(?![\w`~=_.(])")
_EMPHASIS = re.compile(r"(?<![\w*\\])([*_])(?=\S)([^*_\n]{1,200})(?<=\S)\1(?![\w*])")
_ESCAPED = re.compile(r"\\([*_#~=`>|\[\]-])")
_OF_MARKS = re.compile(r"[-`~=*_|:\[\]#+<>\\]")
"""A text without any of these has no marks; checking that first saves most time for prose."""


class WrittenState(Protocol):
    """A state of something stored."""

    @property
    def mtime_ns(self) -> int:
        """The time of its last write, in ns since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRow:
    """A chat in the list of chats."""

    id: ChatId
    # the given title; else the first line of the first question, cut to 60 characters; else
    # `New chat`. The id when the file is damaged.
    title: str
    message_count: int
    # the time of the last message, or of the split or fork that made the chat if that is later;
    # else of the file's last write. ISO 8601 in UTC
    updated_at: str
    # the beginning of the last message that has text, on one line and without Markdown marks;
    # summaries and quoted passages are skipped
    preview: str
    client: str = ""  # the program that the chat belongs to; empty for our own chats
    topics: tuple[str, ...] = ()  # the ids of its first topics
    person: PersonId = OWNER  # the owner
    shared: bool = False  # True if it is shared
    folder: str = ""  # its folder in the list; empty for none
    pinned: bool = False  # it stays at the top of the list
    archived: bool = False  # it is listed below all others

    def may_use(self, person: PersonId) -> bool:
        """True if a person may read the chat and write in it."""
        return Ownership(self.person, self.shared).may_use(person)

    def document(self) -> JsonObject:
        """The row as JSON, without ownership, folder, pin and archive mark by default."""
        row = asdict(self)
        for name in ("folder", "pinned", "archived"):
            if not row[name]:
                del row[name]
        if Ownership(self.person, self.shared) == Ownership():
            del row["person"], row["shared"]
        return row


@dataclass(frozen=True, slots=True)
class DeletedChat:
    """A chat in the trash."""

    deletion: str  # identifies the deletion; a chat can be in the trash several times
    id: ChatId
    title: str  # as in the list of chats
    message_count: int
    deleted_at: str  # ISO 8601 in UTC


def in_order(rows: Iterable[tuple[WrittenState, ChatRow]]) -> list[ChatRow]:
    """The rows, newest first; within one second, the most recently written file comes first."""
    newest_first = sorted(
        rows, key=lambda row: (row[1].updated_at, row[0].mtime_ns, row[1].id), reverse=True
    )
    return [row for _, row in newest_first]


def checked_title(title: str) -> str:
    """A title of 1 to 200 characters with single spaces.

    Raises:
        InvalidParams: It is empty or too long.
    """
    wanted = " ".join(title.split())
    if not 1 <= (length := len(wanted)) <= _LONGEST_TITLE:
        raise InvalidParams(f"A title has 1 to {_LONGEST_TITLE} characters, not {length}.")
    return wanted


def row_of(chat_id: ChatId, version: Version, signature: WrittenState) -> ChatRow:
    """The row of a chat; parses only the messages that it shows."""
    owned = ownership_of(version.other.get(OWNED_BY))
    return ChatRow(
        id=chat_id,
        title=title_of(version),
        message_count=[type(entry.value) for entry in version.entries].count(dict),
        updated_at=_updated_at(version, signature),
        preview=_preview(version),
        client=_client(version),
        topics=_topics(version),
        person=owned.person,
        shared=owned.is_shared,
        folder=folder_of(version.other.get("folder")),
        pinned=version.other.get("pinned") is True,
        archived=version.other.get("archived") is True,
    )


def folder_of(value: object) -> str:
    """The name of a folder in the list: one line of at most 60 characters; empty for no text."""
    return _cut(_on_one_line(value[:_LOOKED_AT]), TITLE_LENGTH) if isinstance(value, str) else ""


def damaged_row(chat_id: ChatId, signature: WrittenState) -> ChatRow:
    """The row of a chat that can't be read; opening the chat reports the damage."""
    return ChatRow(
        id=chat_id, title=chat_id, message_count=0, updated_at=_iso(signature), preview=""
    )


def title_of(version: Version) -> str:
    """The given title, or the first line of the first question that a person typed."""
    messages = (entry.message(position) for position, entry in enumerate(version.entries))
    return title_from(version.other.get("title"), filter(None, messages))


def title_from(given: object, messages: Iterable[Message]) -> str:
    """The title of a chat: the `title` of its document, or one taken from its messages."""
    if isinstance(given, str) and given.strip():
        return _cut(_on_one_line(given.strip()[:_LOOKED_AT]), _LONGEST_TITLE)
    first = ""
    for message in messages:
        if message.role == "user":
            if title := _first_line(question_in(message.text)):
                return title
            first = first or _first_line(message.text)
    return first or UNTITLED


def _client(version: Version) -> str:
    source = version.other.get(SOURCE)
    client = source.get("client") if isinstance(source, Mapping) else None
    return _cut(_on_one_line(client[:_LOOKED_AT]), TITLE_LENGTH) if isinstance(client, str) else ""


def _topics(version: Version) -> tuple[str, ...]:
    topics = version.other.get("topics")
    ids = (
        topic["id"]
        for topic in (topics if isinstance(topics, list) else ())
        if isinstance(topic, Mapping)
        and isinstance(topic.get("id"), str)
        and not topic.get("sticky")
        and not topic.get("parent_id")
    )
    return tuple(islice(ids, MOST_OF_A_ROW))


def _updated_at(version: Version, signature: WrittenState) -> str:
    moments = (
        moment
        for entry in reversed(version.entries)
        if type(entry.value) is dict and (moment := moment_of(entry.value.get("created_at")))
    )
    last = next((_utc(moment) for moment in moments), "") or _iso(signature)
    return max(
        last, *map(_made_at, (version.other.get(SPLIT_FROM), version.other.get(FORKED_FROM)))
    )


def _made_at(origin: object) -> str:
    """The time when a chat was split or forked from another; empty if it was not."""
    moment = moment_of(origin.get("at")) if isinstance(origin, Mapping) else None
    return _utc(moment) if moment else ""


def _iso(signature: WrittenState) -> str:
    try:
        return _utc(datetime.fromtimestamp(signature.mtime_ns / 1e9, UTC))
    except (ValueError, OverflowError, OSError):
        return "1970-01-01T00:00:00Z"


def _utc(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _preview(version: Version) -> str:
    for position in range(len(version.entries) - 1, -1, -1):
        message = version.entries[position].message(position)
        if message is None or message.is_summary or message.is_extracted:
            continue
        if line := plain_line(message.text, PREVIEW_LENGTH):
            return line
    return ""


def plain_line(text: str, length: int) -> str:
    """The beginning of a text on one line, without Markdown marks unless it has nothing else.

    Args:
        length: The most characters; a longer text ends with `…`.
    """
    beginning = text.strip()[: length * 8]
    return _cut(_on_one_line(unmarked(beginning)) or _on_one_line(beginning), length)


def unmarked(text: str) -> str:
    """The text without Markdown marks, to be shown on one plain line."""
    if not _OF_MARKS.search(text):
        return text
    plain = _LINK.sub(r"\1\2", _MARKDOWN.sub("", _PAIRED.sub(r"\2", text)))
    return _ESCAPED.sub(r"\1", _EMPHASIS.sub(r"\2", plain))


def _first_line(text: str) -> str:
    lines = text.strip()[:_LOOKED_AT].splitlines()
    return plain_line(lines[0], TITLE_LENGTH) if lines else ""


def _on_one_line(text: str) -> str:
    words = (
        word if word.isprintable() else "".join(c if c.isprintable() else " " for c in word)
        for word in text.split()
    )
    return " ".join(" ".join(words).split())


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"
