"""The names of what is stored: the keys of a vault's documents, and deletions of chats. Pure."""

import re
from datetime import UTC, datetime
from urllib.parse import quote, unquote

from smart_context.base.errors import CommandFailed
from smart_context.chat.ids import file_stamp
from smart_context.chat.messages import ChatId

_MAX_NAME_BYTES = 200


def name_of(key: str) -> str:
    """A file's name for any key; letters and digits of any script stay as they are.

    Raises:
        ValueError: The key is too long.
    """
    shown = "".join(
        character if character.isalnum() or character in " -_.,()'" else quote(character, safe="")
        for character in key.encode("utf-8", "replace").decode()
    )
    name = f"%2E{shown[1:]}" if shown.startswith(".") else shown
    if len(name.encode()) > _MAX_NAME_BYTES:
        raise ValueError(f"key: {key[:40]!r}… is too long for a file name; choose a shorter one")
    return name


def key_of(name: str) -> str:
    """The key that has this name."""
    return unquote(name)


MOST_AT_ONCE = 9_999
"""Of one chat within a second."""

_DELETION = re.compile(r"([A-Za-z0-9_-]{1,128})\.(\d{8}T\d{6}Z)-(\d{4})")


def deletion_name(chat_id: ChatId, now: datetime, number: int) -> str:
    """The name of a deletion; `number` counts those of one second from 1."""
    return f"{chat_id}.{file_stamp(now)}-{number:04}"


def parsed_deletion(name: str) -> tuple[ChatId, str]:
    """The chat of a deletion, and when it was deleted: ISO 8601 in UTC.

    Raises:
        ValueError: It is no such name, or there is no such date.
    """
    found = _DELETION.fullmatch(name)
    if found is None:
        raise ValueError(name)
    deleted = datetime.strptime(found[2], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    return ChatId(found[1]), f"{deleted:%Y-%m-%dT%H:%M:%SZ}"


def check_deletion(chat_id: ChatId, deletion: str) -> None:
    """Check that a text names a deletion of the chat, or nothing.

    Raises:
        CommandFailed: It does not, so the chat can't be in the trash under it.
    """
    found = _DELETION.fullmatch(deletion)
    if deletion and (found is None or found[1] != chat_id):
        raise not_in_trash(chat_id)


def not_in_trash(chat_id: ChatId) -> CommandFailed:
    """The error for a chat that is not in the trash."""
    return CommandFailed(f"There is no chat {chat_id!r} in the trash.")


def exists_again(chat_id: ChatId, advice: str = "") -> CommandFailed:
    """The error for a deleted chat that can't come back; `advice` begins with a space."""
    return CommandFailed(
        f"A chat {chat_id!r} exists again; it was not replaced by the deleted one.{advice}"
    )
