"""Chats made of messages of another chat: copies, forks, splits. Pure."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from smart_context.base.values import JsonObject
from smart_context.chat.messages import (
    CUT,
    HELD,
    SOURCE,
    STAYS,
    SUMMARIZES,
    Message,
    MessageId,
    copied,
    give_ids,
    messages_of,
)
from smart_context.chat.tool_pairs import NO_CALLER, find_tool_pairs

SPLIT_FROM, SPLITS, FORKED_FROM = "split_from", "splits", "forked_from"
"""The keys of the chats that a chat was split or forked from, and that were split from it."""

CONTINUED_FROM = "continued_from"
"""The key of the chat that another is a copy of."""

_OF_CLIENT = frozenset({CUT, STAYS})
_OF_ONE_CHAT = frozenset(
    {
        *("messages", "branches", "version_order", "removed", "imported"),
        *("pinned", "archived", SOURCE, HELD),
        *(SPLIT_FROM, SPLITS, FORKED_FROM, CONTINUED_FROM),
    }
)


def copy_of(
    document: Mapping[str, Any],
    entries: Sequence[Any],
    new_ids: Mapping[MessageId, MessageId] | None = None,
) -> JsonObject:
    """The document of a new chat with some messages of another, and its title and instructions.

    Leaves out answers that are being written, and the marks of clients.

    Args:
        entries: The stored messages of `document` that the new chat gets.
        new_ids: The new ids of messages; by default they keep theirs.
    """
    others = {name: value for name, value in document.items() if name not in _OF_ONE_CHAT}
    return {**copied(others), "messages": copied_entries(entries, new_ids or {})}


def copied_entries(
    entries: Sequence[Any], new_ids: Mapping[MessageId, MessageId]
) -> list[JsonObject]:
    """Stored messages for another chat."""
    return [
        _renamed(entry, new_ids)
        for entry in entries
        if isinstance(entry, Mapping) and not entry.get("generating")
    ]


def entries_until(document: JsonObject, message_id: str) -> list[JsonObject]:
    """The messages up to and including one, with its tool results; none if it is missing."""
    give_ids(document)  # derived ids depend on a message's place
    messages = messages_of(document)
    last = next((at for at, m in enumerate(messages) if m.id == message_id), -1)
    pairs = find_tool_pairs(messages).caller_of.items()
    ends = (result for result, caller in pairs if NO_CALLER < caller <= last)
    entries = [entry for entry in document["messages"] if isinstance(entry, dict)]
    return entries[: max((last, *ends)) + 1] if last >= 0 else []


def with_companions(messages: Sequence[Message], wanted: Collection[MessageId]) -> list[Message]:
    """The wanted messages of a chat with their tool calls and results, and answers' questions."""
    places = {at for at, message in enumerate(messages) if message.id in wanted}
    callers = find_tool_pairs(messages).caller_of
    known = {at: caller for at, caller in callers.items() if caller != NO_CALLER}
    calling = {known.get(at, at) for at in places}
    places |= calling | {at for at, caller in known.items() if caller in calling}
    question = -1
    for at, message in enumerate(messages):
        if message.role == "user":
            question = at
        elif at in places and message.role == "assistant" and question >= 0:
            places.add(question)
    return [messages[at] for at in sorted(places)]


def _renamed(entry: Mapping[str, Any], new_ids: Mapping[MessageId, MessageId]) -> JsonObject:
    """A copy of a message with its new id; the messages that it names get their new ids, too."""
    made = copied({name: value for name, value in entry.items() if name not in _OF_CLIENT})
    if not new_ids:
        return made
    if made.get("id") in new_ids:
        made["id"] = new_ids[made["id"]]
    if isinstance(named := made.get(SUMMARIZES), list):
        made[SUMMARIZES] = [new_ids[each] for each in named if each in new_ids]
    return made
