"""Recognises chats that were exported from Smart Context."""

import re
from collections.abc import Mapping
from typing import Any

from smart_context.base.errors import ChatIdInvalid
from smart_context.base.text.names import storable, storable_value
from smart_context.chat.documents.branches import BRANCHES, VERSION_ORDER
from smart_context.chat.documents.choices import HIDDEN, PINNED
from smart_context.chat.exported import MARK, NOT_IN_NAMES, unmarked
from smart_context.chat.ids import check_chat_id
from smart_context.chat.listed.rows import title_from
from smart_context.chat.messages import INSTRUCTIONS, PRIVATE, ROLES, SOURCE, messages_of
from smart_context.importing.found import NotReadable, OwnChat, mapping, text_of

_SIGNS = frozenset((BRANCHES, VERSION_ORDER, "topics", SOURCE, "split_from", "forked_from"))
"""Keys of Smart Context's documents that are rare in others."""

_KEYS = frozenset(
    ("title", "created_at", "messages", "folder", "pinned", "archived", INSTRUCTIONS, PRIVATE)
)
"""Keys that documents of other programs may have as well."""

_LONGEST_TITLE = 80
_MESSAGE_ID = re.compile(r"m?[0-9a-f]{8,12}")


def is_marked(item: Mapping[str, Any]) -> bool:
    """True for a document with the mark of an export."""
    return "export" in mapping(item.get(MARK))


def is_older_export(item: Mapping[str, Any], stem: str) -> bool:
    """True for an export from before there were marks, by the document and the file's name.

    Args:
        stem: The file's name without its ending.
    """
    messages = item.get("messages")
    if not isinstance(messages, list) or not messages or "id" in item:
        return False
    if not all(_is_message(row) for row in messages):
        return False
    if not _SIGNS.isdisjoint(item):
        return True
    is_named = bool(text_of(item.get("title"))) and stem.startswith(_name_start(item))
    has_ids = all(_MESSAGE_ID.fullmatch(row["id"]) for row in messages)
    return item.keys() <= _KEYS and (is_named or has_ids) and _is_id(_id_in(stem, item))


def own_chat(item: Mapping[str, Any], stem: str) -> OwnChat:
    """The chat in an export.

    Args:
        stem: As for `is_older_export`.

    Raises:
        NotReadable: If it has no list of messages, or its mark is damaged.
    """
    if not isinstance(item.get("messages"), list):
        raise NotReadable("expected a list of messages, found none")
    mark = mapping(item.get(MARK))
    told = text_of(mark.get("chat_id")) or _id_in(stem, item)
    return OwnChat(
        id=told if _is_id(told) else "",
        document=storable_value(unmarked(item)),
        hidden=_ids_in(mark, HIDDEN),
        pinned=_ids_in(mark, PINNED),
    )


def _ids_in(mark: Mapping[str, Any], key: str) -> list[str]:
    """The message ids in a mark; a damaged list is an error, so that no message is unhidden."""
    listed = mark.get(key, [])
    if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
        raise NotReadable(f'expected a list of ids of messages as "{key}" in "{MARK}"')
    return [storable(each) for each in listed]


def _id_in(stem: str, document: Mapping[str, Any]) -> str:
    """The chat's id from the name of a file without a mark; not checked.

    The name is `<title>-<chat_id>`, in the form of that time, or the id alone. In a name changed by
    a person, the id is the part after the last `-`.
    """
    start = _name_start(document)
    if start and stem.startswith(start):
        return stem.removeprefix(start)
    return stem if _is_id(stem) else stem.rpartition("-")[2]


def _name_start(document: Mapping[str, Any]) -> str:
    words = NOT_IN_NAMES.sub(" ", title_from(document.get("title"), messages_of(document)))
    named = " ".join(words.split())[:_LONGEST_TITLE].strip(" .")
    return f"{named}-" if named else ""


def _is_message(row: object) -> bool:
    return (
        isinstance(row, Mapping)
        and bool(text_of(row.get("id")))
        and text_of(row.get("role")) in ROLES
        and isinstance(row.get("content"), str | list)
    )


def _is_id(text: str) -> bool:
    try:
        check_chat_id(text)
    except ChatIdInvalid:
        return False
    return True
