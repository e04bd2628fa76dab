"""What the list of chats shows of each chat, kept so that unchanged chats are not read again."""

import contextlib
import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from typing import Any

from smart_context.chat.documents.document import Version
from smart_context.chat.ids import chat_id_of
from smart_context.chat.messages import ChatId, Message
from smart_context.disk.files import Signature, atomic_write, read_file
from smart_context.disk.places import Place
from smart_context.errors import StoreFailed

INDEX_NAME = ".index.json"
"""The summaries on disk: only a cache, made again when it is damaged or missing."""

UNTITLED = "New chat"
TITLE_LENGTH = 60
PREVIEW_LENGTH = 120
_INDEX_VERSION = 1
_LONGEST_TITLE = 200  # of those that others have given; we let nobody give a longer one
_LOOKED_AT = 2_000  # characters of a message or title that may hold millions of lines


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSummary:
    """One chat as the list of chats shows it.

    Attributes:
        id: The chat.
        title: The title that was given, or the first line of the first question, cut to 60
            characters; `New chat` when there is neither. The id when the file is damaged.
        message_count: How many messages it has.
        updated_at: When the last message was written, or else the file; ISO 8601 in UTC.
        preview: The beginning of the last message that says anything, on one line.
    """

    id: ChatId
    title: str
    message_count: int
    updated_at: str
    preview: str


def summary_of(chat_id: ChatId, version: Version, signature: Signature) -> ChatSummary:
    """The summary of a chat; reads only the messages that it shows."""
    return ChatSummary(
        id=chat_id,
        title=title_of(version),
        message_count=sum(type(entry.value) is dict for entry in version.entries),
        updated_at=_updated_at(version, signature),
        preview=_preview(version),
    )


def damaged_summary(chat_id: ChatId, signature: Signature) -> ChatSummary:
    """What is shown of a chat that can't be read; opening it reports the damage."""
    return ChatSummary(
        id=chat_id, title=chat_id, message_count=0, updated_at=_iso(signature), preview=""
    )


def title_of(version: Version) -> str:
    """The title that was given, or one made from the first question."""
    given = version.other.get("title")
    if isinstance(given, str) and given.strip():
        return _cut(_on_one_line(given.strip()[:_LOOKED_AT]), _LONGEST_TITLE)
    for position, entry in enumerate(version.entries):
        message = entry.message(position)
        if message is not None and message.role == "user" and (title := _first_line(message)):
            return title
    return UNTITLED


def read_index(folder: Place) -> dict[ChatId, tuple[Signature, ChatSummary]]:
    """The summaries that were kept; none when the file is missing or damaged."""
    with contextlib.suppress(StoreFailed, ValueError, TypeError, RecursionError):
        found = read_file(folder / INDEX_NAME)
        match json.loads(found[1]) if found else None:
            case {"version": version, "chats": dict(chats)} if version == _INDEX_VERSION:
                return dict(_indexed(name, row) for name, row in chats.items())
    return {}


def write_index(folder: Place, summaries: Mapping[ChatId, tuple[Signature, ChatSummary]]) -> None:
    """Keep the summaries for the next start; a disk that refuses is no harm."""
    chats = {
        chat_id: [*signature, *astuple(summary)[1:]]
        for chat_id, (signature, summary) in summaries.items()
    }
    content = json.dumps({"version": _INDEX_VERSION, "chats": chats}, separators=(",", ":"))
    with contextlib.suppress(StoreFailed):
        atomic_write(folder / INDEX_NAME, content.encode())


def _indexed(name: str, row: Any) -> tuple[ChatId, tuple[Signature, ChatSummary]]:
    mtime_ns, size, inode, title, message_count, updated_at, preview = row
    chat_id = chat_id_of(f"{name}.json")
    texts = (title, updated_at, preview)
    numbers = (mtime_ns, size, inode, message_count)
    if (
        chat_id is None
        or not all(isinstance(text, str) for text in texts)
        or not all(isinstance(number, int) for number in numbers)
    ):
        raise ValueError(name)
    summary = ChatSummary(
        id=chat_id,
        title=title,
        message_count=message_count,
        updated_at=updated_at,
        preview=preview,
    )
    return chat_id, (Signature(mtime_ns, size, inode), summary)


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
        if message is not None and (text := message.text.strip()):
            return _cut(_on_one_line(text[: PREVIEW_LENGTH * 8]), PREVIEW_LENGTH)
    return ""


def _first_line(message: Message) -> str:
    lines = message.text.strip()[:_LOOKED_AT].splitlines()
    return _cut(_on_one_line(lines[0]), TITLE_LENGTH) if lines else ""


def _on_one_line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"
