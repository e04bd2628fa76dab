"""Merges the branches of two writers' versions of one chat. Pure.

One writer may show another version of a chat while the other goes on in the one that was current.
Then each message stays in the version that it was written in.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from smart_context.base.values import JsonObject
from smart_context.chat.documents.branches import (
    BRANCHES,
    REMOVED,
    VERSION_ORDER,
    branches_of,
    set_branches,
)
from smart_context.chat.documents.document import MessageEntry, Version, copy_json


def merge_branches(base: Version, sides: tuple[Version, Version], merged: Version) -> Version:
    """A merged document with the branches of both sides.

    Args:
        base: The version that both sides started from.
        sides: The stored version and ours.
        merged: Their merge, whose branches are those of one side.

    Returns:
        `merged` with each message that one side added behind messages that are on a branch now
        moved there, and without copies of messages that are on a branch.
    """
    if not any(key in side.other for side in sides for key in (BRANCHES, REMOVED)):
        return merged
    theirs, ours = sides
    branches = [
        copy_json(branch)
        for branch in _united(*(_branches(version) for version in (base, theirs, ours)))
    ]
    entries = tuple(_placed(base, sides, merged.entries, branches))
    document: JsonObject = {key: value for key, value in merged.other.items() if key != REMOVED}
    order = [*_order(theirs), *_order(ours)]
    if order:
        document[VERSION_ORDER] = list(dict.fromkeys(order))
    document.pop(BRANCHES, None)
    set_branches(document, branches)
    return Version(entries, document, min(merged.place, len(document)))


def _branches(version: Version) -> list[JsonObject]:
    messages = [entry.value for entry in version.entries]
    return branches_of({**version.other, "messages": messages})


def _order(version: Version) -> list[str]:
    order = version.other.get(VERSION_ORDER)
    return [entry for entry in (order if isinstance(order, list) else []) if type(entry) is str]


def _united(
    base: Sequence[JsonObject], theirs: Sequence[JsonObject], ours: Sequence[JsonObject]
) -> Iterator[JsonObject]:
    """The branches of both sides; what one side made current or deleted goes, unless edited."""
    before, stored, mine = (_by_id(branches) for branches in (base, theirs, ours))
    kept: list[JsonObject] = []
    for key in (*mine, *(key for key in stored if key not in mine)):
        found = [side[key] for side in (mine, stored) if key in side]
        if len(found) == 1 and before.get(key) == found[0]:
            continue
        edited = [branch for branch in found if branch != before.get(key)]
        kept.append((edited or found)[0])
    for branch in kept:
        if not any(_goes_on(other, branch) for other in kept if other is not branch):
            yield branch


def _by_id(branches: Sequence[JsonObject]) -> dict[str, JsonObject]:
    return {str(branch.get("id")): branch for branch in branches}


def _goes_on(longer: JsonObject, branch: JsonObject) -> bool:
    """True if a branch has all messages of another, and more; of two equal ones the first."""
    ids, others = ([_id(entry) for entry in b["messages"]] for b in (branch, longer))
    is_same_place = longer.get("after") == branch.get("after") and bool(ids)
    first = min(str(longer.get("id")), str(branch.get("id")))
    is_first = len(others) > len(ids) or str(longer.get("id")) == first
    return is_same_place and others[: len(ids)] == ids and None not in ids and is_first


def _placed(
    base: Version,
    sides: tuple[Version, Version],
    entries: Sequence[MessageEntry],
    branches: Sequence[JsonObject],
) -> Iterator[MessageEntry]:
    """The entries of the path; others are put into the branches."""
    ours = sides[1]
    holders = {_id(e): branch for branch in branches for e in branch["messages"] if _id(e)}
    path = {_id(entry.value) for entry in entries}
    before = [{_id(entry.value): _id(last.value) for last, entry in _pairs(side)} for side in sides]
    for entry in entries:
        message_id = _id(entry.value)
        holder = holders.get(message_id)
        if message_id is not None and holder is not None:
            place = _place(holder["messages"], message_id)
            if message_id in ours.by_key and message_id not in base.by_key:
                del holder["messages"][place]  # we have just made it current
                yield entry
                continue
            holder["messages"][place] = copy_json(entry.value)
            path.discard(message_id)
            continue
        previous = [places[message_id] for places in before if message_id in places]
        behind = next((p for p in previous if p in holders), None)
        if message_id is None or message_id in base.by_key or behind is None or behind in path:
            yield entry
            continue
        messages = holders[behind]["messages"]
        messages.insert(_place(messages, behind) + 1, copy_json(entry.value))
        holders[message_id] = holders[behind]
        path.discard(message_id)


def _pairs(side: Version) -> Iterator[tuple[MessageEntry, MessageEntry]]:
    return zip(side.entries, side.entries[1:], strict=False)


def _place(messages: Sequence[Any], message_id: str) -> int:
    return next(place for place, entry in enumerate(messages) if _id(entry) == message_id)


def _id(entry: object) -> str | None:
    found = entry.get("id") if isinstance(entry, Mapping) else None
    return found if isinstance(found, str) and found else None
