"""Tells what was exported from here from what other programs write."""

import re
from collections.abc import Mapping
from typing import Any

from smart_context.base.errors import ChatIdInvalid
from smart_context.chat.documents.branches import BRANCHES, VERSION_ORDER
from smart_context.chat.exported import MARK, chat_id_in, name_start, unmarked
from smart_context.chat.ids import check_chat_id
from smart_context.chat.messages import INSTRUCTIONS, PRIVATE, ROLES, SOURCE
from smart_context.importing.found import NotReadable, OwnChat, mapping, text_of

_SIGNS = frozenset((BRANCHES, VERSION_ORDER, "topics", SOURCE, "split_from", "forked_from"))
"""Keys that documents from here have, and few others."""

_KEYS = frozenset(
    ("title", "created_at", "messages", "folder", "pinned", "archived", INSTRUCTIONS, PRIVATE)
)
"""Keys that other programs' documents may have, too."""

_MESSAGE_ID = re.compile(r"m?[0-9a-f]{8,12}")


def is_marked(item: Mapping[str, Any]) -> bool:
    """True for what says that it was exported from here."""
    return "export" in mapping(item.get(MARK))


def is_older_export(item: Mapping[str, Any], stem: str) -> bool:
    """True for an export without a mark: it is as documents were, and so is its file's name.

    Args:
        stem: The name of its file, without the ending.
    """
    messages = item.get("messages")
    if not isinstance(messages, list) or not messages or "id" in item:
        return False
    if not all(_is_message(row) for row in messages):
        return False
    if not _SIGNS.isdisjoint(item):
        return True
    start = name_start(item)
    is_named = bool(text_of(item.get("title"))) and stem.startswith(start)
    has_ids = all(_MESSAGE_ID.fullmatch(row["id"]) for row in messages)
    return item.keys() <= _KEYS and (is_named or has_ids) and _is_id(stem.removeprefix(start))


def own_chat(item: Mapping[str, Any], stem: str) -> OwnChat:
    """The chat of what was exported from here.

    Args:
        stem: As for `is_older_export`.

    Raises:
        NotReadable: If it has no list of messages.
    """
    if not isinstance(item.get("messages"), list):
        raise NotReadable("expected a list of messages, found none")
    told = text_of(mapping(item.get(MARK)).get("chat_id")) or chat_id_in(stem, item)
    return OwnChat(id=told if _is_id(told) else "", document=unmarked(item))


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
