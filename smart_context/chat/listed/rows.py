"""The rows of the list of chats, kept on disk so that unchanged chats are not read again."""

import contextlib
import re
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from smart_context.base.disk.files import Signature
from smart_context.base.disk.json_file import read_object, write_object
from smart_context.base.disk.places import Place
from smart_context.base.errors import StoreFailed
from smart_context.chat.documents.document import Version
from smart_context.chat.ids import chat_id_of
from smart_context.chat.messages import SOURCE, ChatId, Message

INDEX_NAME = ".index.json"
"""The rows on disk: a cache, rebuilt when it is damaged or missing."""

UNTITLED = "New chat"
TITLE_LENGTH = 60
PREVIEW_LENGTH = 120
MOST_TOPICS = 5
_INDEX_VERSION = 2
_LONGEST_TITLE = 200  # another program may have written a longer one
_LOOKED_AT = 2_000  # characters; a message or title may hold millions of lines
_MARKDOWN = re.compile(
    r"^[ \t]*(?:```.*$|(?:#{1,6}|>|[-*+])[ \t]+(?:\[[ xX]\][ \t]+)?)|\*\*|`|\[\[|\]\]", re.MULTILINE
)
"""Markdown marks that only clutter a line of plain text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRow:
    """A chat in the list of chats.

    Attributes:
        id: The chat.
        title: The title that was given; else the first line of the first question, cut to 60
            characters; else `New chat`. The id when the file is damaged.
        message_count: The number of messages.
        updated_at: When the last message was written, else when the file was; ISO 8601 in UTC.
        preview: The beginning of the last message that has text, on one line and without
            Markdown marks; summaries and quoted passages are skipped.
        client: The program that the chat belongs to; empty for our own chats.
        topics: The ids of its first topics.
    """

    id: ChatId
    title: str
    message_count: int
    updated_at: str
    preview: str
    client: str = ""
    topics: tuple[str, ...] = ()


def row_of(chat_id: ChatId, version: Version, signature: Signature) -> ChatRow:
    """The row of a chat; parses only the messages that it shows."""
    return ChatRow(
        id=chat_id,
        title=title_of(version),
        message_count=sum(type(entry.value) is dict for entry in version.entries),
        updated_at=_updated_at(version, signature),
        preview=_preview(version),
        client=_client(version),
        topics=_topics(version),
    )


def damaged_row(chat_id: ChatId, signature: Signature) -> ChatRow:
    """The row of a chat that can't be read; opening the chat reports the damage."""
    return ChatRow(
        id=chat_id, title=chat_id, message_count=0, updated_at=_iso(signature), preview=""
    )


def title_of(version: Version) -> str:
    """The title that was given, or the first line of the first question."""
    given = version.other.get("title")
    if isinstance(given, str) and given.strip():
        return _cut(_on_one_line(given.strip()[:_LOOKED_AT]), _LONGEST_TITLE)
    for position, entry in enumerate(version.entries):
        message = entry.message(position)
        if message is not None and message.role == "user" and (title := _first_line(message)):
            return title
    return UNTITLED


def read_index(folder: Place) -> dict[ChatId, tuple[Signature, ChatRow]]:
    """The rows that were kept; none when the file is missing or damaged."""
    index = read_object(folder / INDEX_NAME)
    with contextlib.suppress(ValueError, TypeError):
        match index:
            case {"version": version, "chats": dict(chats)} if version == _INDEX_VERSION:
                return dict(_indexed(name, row) for name, row in chats.items())
    return {}


def write_index(folder: Place, rows: Mapping[ChatId, tuple[Signature, ChatRow]]) -> None:
    """Keep the rows for the next start; does nothing if the disk refuses."""
    chats = {chat_id: [*signature, *astuple(row)[1:]] for chat_id, (signature, row) in rows.items()}
    with contextlib.suppress(StoreFailed):
        write_object(folder / INDEX_NAME, {"version": _INDEX_VERSION, "chats": chats})


def _indexed(name: str, row: Any) -> tuple[ChatId, tuple[Signature, ChatRow]]:
    mtime_ns, size, inode, title, message_count, updated_at, preview, client, topics = row
    chat_id = chat_id_of(f"{name}.json")
    texts = (title, updated_at, preview, client, *topics)
    numbers = (mtime_ns, size, inode, message_count)
    if (
        chat_id is None
        or not all(isinstance(text, str) for text in texts)
        or not all(isinstance(number, int) for number in numbers)
    ):
        raise ValueError(name)
    kept = ChatRow(
        id=chat_id,
        title=title,
        message_count=message_count,
        updated_at=updated_at,
        preview=preview,
        client=client,
        topics=tuple(topics),
    )
    return chat_id, (Signature(mtime_ns, size, inode), kept)


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
    return tuple(islice(ids, MOST_TOPICS))


def _updated_at(version: Version, signature: Signature) -> str:
    for entry in reversed(version.entries):
        written = entry.value.get("created_at") if type(entry.value) is dict else None
        if isinstance(written, str) and written:
            with contextlib.suppress(ValueError, OverflowError):
                moment = datetime.fromisoformat(written)
                moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
                return _utc(moment)
    return _iso(signature)


def _iso(signature: Signature) -> str:
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
        if text := message.text.strip():
            beginning = text[: PREVIEW_LENGTH * 8]
            plain = _on_one_line(unmarked(beginning))
            return _cut(plain or _on_one_line(beginning), PREVIEW_LENGTH)
    return ""


def unmarked(text: str) -> str:
    """The text without Markdown marks, to be shown on one plain line."""
    return _MARKDOWN.sub("", text)


def _first_line(message: Message) -> str:
    lines = message.text.strip()[:_LOOKED_AT].splitlines()
    return _cut(_on_one_line(lines[0]), TITLE_LENGTH) if lines else ""


def _on_one_line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"
