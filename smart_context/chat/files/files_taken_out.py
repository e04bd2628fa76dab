"""The attached files that go along with exported chats, next to them or in a page. Pure."""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from smart_context.base.text.names import one_line
from smart_context.base.values import text_in
from smart_context.chat.documents.branches import branches_of
from smart_context.chat.files.attached_file import data_address, is_key, key_of, link_text
from smart_context.chat.messages import Message, messages_of

ATTACHED_FOLDER = "files"
"""Where the attached files of exported chats lie, next to the chats."""

MOST_EMBEDDED_BYTES = 32 << 20
"""The most bytes of attached files that one page holds; those beyond are only named."""

NOT_IN_NAMES = re.compile(r'[\\/:*?"<>|#^\[\]\x00-\x1f]+')
"""What no file's name may have on some system, or no link in Obsidian."""

_LONGEST_NAME, _LONGEST_ENDING = 120, 30
"""In bytes and characters; file systems take 255 bytes, of which the key has 65."""


def attached_in(document: Mapping[str, Any]) -> dict[str, str]:
    """The names of all files that a chat's messages have, by storage key; also in branches."""
    found: dict[str, str] = {}
    for message in _all_messages(document):
        for file in message.files:
            key = file.get("storage_key")
            if isinstance(key, str) and is_key(key):
                found.setdefault(key, str(file.get("name") or "file"))
    return found


def link_texts_in(document: Mapping[str, Any]) -> dict[str, str]:
    """What is stored of the links that a chat's messages have, by storage key."""
    found: dict[str, str] = {}
    for message in _all_messages(document):
        for link in message.links:
            text = link_text(text_in(link.get("title")), text_in(link.get("url")))
            key = key_of(text.encode("utf-8", "replace"))
            if key == link.get("storage_key") and text.strip():  # else it is another's
                found[key] = text
    return found


def _all_messages(document: Mapping[str, Any]) -> Iterator[Message]:
    for path in (document, *branches_of(document)):
        yield from messages_of(path)


def attached_name(key: str, name: str) -> str:
    """The name of an attached file next to exported chats: `<key>-<name>`, safe everywhere."""
    words = " ".join(NOT_IN_NAMES.sub(" ", one_line(name)).split()).strip(" .") or "file"
    stem, dot, ending = words.rpartition(".")
    if not dot or len(ending) > _LONGEST_ENDING:
        stem, ending = words, ""
    start = stem.encode("utf-8", "replace")[:_LONGEST_NAME].decode("utf-8", "ignore")
    return f"{key}-{start}{dot and ending and '.'}{ending}"


def is_attached_name(name: str) -> bool:
    """True for names that `attached_name` gives."""
    key, dash, _ = name.partition("-")
    return bool(dash) and is_key(key)


async def embedded(
    document: Mapping[str, Any], read: Callable[[str], Awaitable[bytes | None]]
) -> dict[str, str]:
    """The attached files of a chat as `data:` addresses, by storage key, as far as they fit.

    Args:
        document: The chat.
        read: Gives a file's content by its storage key; `None` when it is gone.
    """
    found: dict[str, str] = {}
    room = MOST_EMBEDDED_BYTES
    for key in attached_in(document):
        content = await read(key)
        if content is not None and len(content) <= room:
            found[key] = data_address(content)
            room -= len(content)
    return found
