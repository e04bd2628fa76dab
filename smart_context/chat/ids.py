"""Chat ids, and the names of a chat's files (docs/chats.md).

An id must be a valid file name on every system, and two ids must never name one file. So an invalid
id is refused, never altered or shortened.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from datetime import datetime

from smart_context.base.errors import ChatIdInvalid, CommandFailed
from smart_context.base.text.names import names_device
from smart_context.base.values import PersonId
from smart_context.chat.messages import ChatId, MessageId

_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_CHAT_FILE = re.compile(r"([A-Za-z0-9_-]{1,128})\.json")
_SIDECAR = re.compile(r"([A-Za-z0-9_-]{1,128})\.[a-z0-9_-]+\.json")
_SUFFIX = re.compile(r"[a-z0-9][a-z0-9_-]*(\.[a-z0-9_-]+)*")
_SHOWN = 60
_LONGEST = 128

_SECRET = secrets.token_bytes(16)
_PLACEHOLDER = "nobodys-"


def check_chat_id(text: object) -> ChatId:
    """The id, unchanged.

    Raises:
        ChatIdInvalid: Unless it is 1 to 128 ASCII letters, digits, `-` or `_`; also for names of
            Windows devices such as `con`, which could not be synced to such a machine.
    """
    if not isinstance(text, str) or not _ID.fullmatch(text):
        raise ChatIdInvalid(
            f"{_shown(text)} is not a chat id: expected 1 to 128 ASCII letters, digits, '-' or '_'."
        )
    if names_device(text):
        raise ChatIdInvalid(
            f"{text!r} can't be a chat id: Windows keeps that name for a device. Choose another."
        )
    return ChatId(text)


def unknown_chat(text: str) -> CommandFailed:
    """The error for a chat that is missing or hidden from the person; `text` may be no valid id."""
    return CommandFailed(f"There is no chat {text[:_LONGEST]!r}; it may have been deleted.")


def placeholder_for(chat_id: str, person: PersonId) -> str:
    """An id that no chat has, in place of the id of a chat that a person may not see.

    The same person gets the same id each time, within this process.
    """
    named = f"{person}\0{chat_id}".encode("utf-8", "surrogatepass")
    return _PLACEHOLDER + hmac.new(_SECRET, named, hashlib.sha256).hexdigest()[:40]


def is_placeholder(chat_id: str) -> bool:
    """True for an id that no chat can get."""
    return chat_id.startswith(_PLACEHOLDER)


def new_chat_id() -> ChatId:
    """A new id of 16 lower-case hexadecimal digits."""
    return ChatId(secrets.token_hex(8))


def chat_id_of(file_name: str) -> ChatId | None:
    """The chat whose document has this file name; `None` for side-cars and other files."""
    found = _CHAT_FILE.fullmatch(file_name)
    if found is None or names_device(found[1]):
        return None
    return ChatId(found[1])


def sidecar_chat_of(file_name: str) -> ChatId | None:
    """The chat that a JSON side-car with this file name belongs to; else `None`."""
    found = _SIDECAR.fullmatch(file_name)
    return None if found is None else ChatId(found[1])


def sidecar_name(chat_id: ChatId, suffix: str) -> str:
    """`<chat_id>.<suffix>`, the name of a side-car.

    Raises:
        ValueError: If the suffix could leave the folder or is the document's own, `json`.
    """
    if not _SUFFIX.fullmatch(suffix) or suffix == "json":
        raise ValueError(f"not a suffix of a side-car: {suffix!r}")
    return f"{chat_id}.{suffix}"


def belongs_to(chat_id: ChatId, file_name: str) -> bool:
    """True for the chat's document and its side-cars."""
    return file_name.startswith(f"{chat_id}.")


def same_but_for_case(file_name: str, present: Iterable[str]) -> str | None:
    """The file that a case-insensitive system would open in place of `file_name`; else `None`."""
    names = set(present)
    if file_name in names:
        return None
    folded = file_name.lower()
    return next((name for name in sorted(names) if name.lower() == folded), None)


def file_stamp(now: datetime) -> str:
    """A time as part of a file name, to the second."""
    return f"{now:%Y%m%dT%H%M%SZ}"


def _shown(text: object) -> str:
    shown = repr(text)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"


def new_message_id() -> MessageId:
    """A new id for a message, a branch, a client's turn or an attached file."""
    return MessageId(secrets.token_hex(6))
