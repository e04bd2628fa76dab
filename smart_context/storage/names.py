"""The names of stored data: of a vault's documents by key, and of deletions of chats. Pure."""

import re
from datetime import UTC, datetime
from urllib.parse import quote, unquote

from smart_context.base.errors import CommandFailed
from smart_context.chat.ids import file_stamp
from smart_context.chat.messages import ChatId

_MAX_NAME_BYTES = 200


def name_of(key: str) -> str:
    """A file name for any key; letters and digits of any script stay as they are.

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
"""The most deletions of one chat within a second."""

_DELETION = re.compile(r"([A-Za-z0-9_-]{1,128})\.(\d{8}T\d{6}Z)-(\d{4})")


def deletion_name(chat_id: ChatId, now: datetime, number: int) -> str:
    """The name of a deletion; `number` counts the deletions within one second, from 1."""
    return f"{chat_id}.{file_stamp(now)}-{number:04}"


def parsed_deletion(name: str) -> tuple[ChatId, str]:
    """The chat of a deletion, and the time of the deletion: ISO 8601 in UTC.

    Raises:
        ValueError: The name is not a deletion's, or its date does not exist.
    """
    found = _DELETION.fullmatch(name)
    if found is None:
        raise ValueError(name)
    deleted = datetime.strptime(found[2], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    return ChatId(found[1]), f"{deleted:%Y-%m-%dT%H:%M:%SZ}"


def check_deletion(chat_id: ChatId, deletion: str) -> None:
    """Check that a text is empty, or names a deletion of the chat.

    Raises:
        CommandFailed: It is neither, so the trash can't have that deletion.
    """
    found = _DELETION.fullmatch(deletion)
    if deletion and (found is None or found[1] != chat_id):
        raise not_in_trash(chat_id)


def not_in_trash(chat_id: ChatId) -> CommandFailed:
    """The error for a chat that is not in the trash."""
    return CommandFailed(f"There is no chat {chat_id!r} in the trash.")


def exists_again(chat_id: ChatId, advice: str = "") -> CommandFailed:
    """The error for a deleted chat whose id is in use again; `advice` begins with a space."""
    return CommandFailed(
        f"A chat {chat_id!r} exists again; it was not replaced by the deleted one.{advice}"
    )
