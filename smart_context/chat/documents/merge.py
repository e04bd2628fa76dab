"""Merges two writers' versions of one chat, and of its branches. Pure.

Each change is judged against the version that both started from (docs/chats.md). A change by one
side is taken. An entry that one side deleted is deleted, unless the other side edited it. An entry
that both edited is merged key by key; where both changed one key, ours wins, as it is newer.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from smart_context.base.errors import InvalidParams
from smart_context.base.values import JsonObject, text_in
from smart_context.chat.documents.branches import (
    BRANCHES,
    REMOVED,
    VERSION_ORDER,
    branches_of,
    set_branches,
)
from smart_context.chat.documents.document import MessageEntry, NotJson, Version, copy_json, settle
from smart_context.chat.documents.lineage import Ancestry
from smart_context.chat.documents.ownership import OWNED_BY


def merge_branches(base: Version, sides: tuple[Version, Version], merged: Version) -> Version:
    """A merged document with the branches of both sides.

    Args:
        merged: The merge of both sides, but with the branches of one side.

    Returns:
        `merged`, without messages that are on a branch. A message that one side added after a
        message that is on a branch now is moved to that branch.
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
    """The branches of both sides, except those that one side removed and the other did not edit."""
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
    """True if `longer` continues `branch` with more messages, or equals it and has a lower id."""
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
    """The entries of the path; moves the others into the branches."""
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
                del holder["messages"][place]  # our side has just made it current
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


_ABSENT: Any = object()
_START: Hashable = None


def saved(
    document: Mapping[str, Any], ancestry: Ancestry, stored: Version | None
) -> tuple[Version, Version]:
    """A client's document as a version, and the same merged with what is stored.

    The owner of the chat stays the same; the one in the client's document is ignored.

    Args:
        ancestry: The versions that it may descend from.

    Raises:
        InvalidParams: It is not JSON, or its `messages` is not a list.
    """
    ours = changed(document, stored)
    owned = stored.other.get(OWNED_BY) if stored else None
    if ours.other.get(OWNED_BY) != owned:
        kept = {key: value for key, value in document.items() if key != OWNED_BY}
        ours = changed(kept if owned is None else {**kept, OWNED_BY: owned}, stored)
    if stored is None:
        return ours, ours
    return ours, merge(ancestry.ancestor_of(ours) or Version(), stored, ours)


def changed(document: Mapping[str, Any], stored: Version | None) -> Version:
    """A changed document as a version that shares equal entries with the stored one.

    Raises:
        InvalidParams: It is not JSON, or its `messages` is not a list.
    """
    if not isinstance(document, Mapping):
        raise InvalidParams("A chat's document is a JSON object with a list 'messages'.")
    try:
        return settle(document, stored or Version())
    except NotJson as error:
        raise InvalidParams(f"The chat was not saved: {error}.") from error


def merge(base: Version, theirs: Version, ours: Version) -> Version:
    """The document with the changes of both sides.

    Args:
        base: The version that both sides started from. An empty one if unknown: then nothing
            counts as deleted.

    Returns:
        The entries in the order of the side that reordered them (ours if both did). Added
        entries stay after the entry that they were added after.
    """
    if base.says_the_same(theirs):
        return ours
    if base.says_the_same(ours):
        return theirs
    other = merge_keys(base.other, theirs.other, ours.other)
    place = min(ours.place, len(other))
    merged = Version(tuple(_merged_entries(base, theirs, ours)), other, place)
    return merge_branches(base, (theirs, ours), merged)


def merge_keys(
    base: Mapping[str, Any], theirs: Mapping[str, Any], ours: Mapping[str, Any]
) -> dict[str, Any]:
    """An object with the changes of both sides, key by key; ours where both changed one."""
    merged: dict[str, Any] = {}
    for key in (*ours, *(key for key in theirs if key not in ours)):
        value = _newer(base.get(key, _ABSENT), theirs.get(key, _ABSENT), ours.get(key, _ABSENT))
        if value is not _ABSENT:
            merged[key] = value
    return merged


def _newer(base: Any, theirs: Any, ours: Any) -> Any:
    if ours is base or ours == base:
        return theirs
    if ours is _ABSENT and theirs is not base and theirs != base:
        return theirs  # deleted here, edited there: the edit wins
    return ours


def _merged_entries(base: Version, theirs: Version, ours: Version) -> Iterator[MessageEntry]:
    kept = _kept(base, theirs, ours)
    common = [key for key in theirs.keys if key in kept and key in ours.by_key]
    our_common = [key for key in ours.keys if key in kept and key in theirs.by_key]
    if _in_order_of(base, our_common) != our_common:
        common = our_common
    our_additions = _additions(ours.keys, kept, set(common))
    their_additions = _additions(theirs.keys, kept, set(common))
    for anchor in (_START, *common):
        if anchor is not _START:
            yield kept[anchor]
        first = [kept[key] for key in their_additions.get(anchor, ())]
        second = [kept[key] for key in our_additions.get(anchor, ())]
        if _is_older(second, first):
            first, second = second, first
        yield from first
        yield from second


def _kept(base: Version, theirs: Version, ours: Version) -> dict[Hashable, MessageEntry]:
    kept: dict[Hashable, MessageEntry] = {}
    for key in (*theirs.keys, *(key for key in ours.keys if key not in theirs.by_key)):
        entry = _judged(base.by_key.get(key), theirs.by_key.get(key), ours.by_key.get(key))
        if entry is not None:
            kept[key] = entry
    return kept


def _judged(
    base: MessageEntry | None, theirs: MessageEntry | None, ours: MessageEntry | None
) -> MessageEntry | None:
    if theirs is None or ours is None:
        remaining = theirs or ours
        return None if remaining == base else remaining
    if ours in (theirs, base):
        return theirs
    if theirs == base:
        return ours
    return _both_edited(base, theirs, ours)


def _both_edited(
    base: MessageEntry | None, theirs: MessageEntry, ours: MessageEntry
) -> MessageEntry:
    started = base.value if base is not None else {}
    if not all(type(value) is dict for value in (started, theirs.value, ours.value)):
        return ours
    return MessageEntry(merge_keys(started, theirs.value, ours.value))


def _in_order_of(base: Version, keys: Sequence[Hashable]) -> list[Hashable]:
    places = {key: place for place, key in enumerate(base.keys)}
    if any(key not in places for key in keys):
        return list(keys)  # the earlier order is unknown
    return sorted(keys, key=places.__getitem__)


def _additions(
    keys: Sequence[Hashable], kept: Mapping[Hashable, MessageEntry], common: set[Hashable]
) -> dict[Hashable, list[Hashable]]:
    additions: dict[Hashable, list[Hashable]] = {}
    anchor = _START
    for key in keys:
        if key in common:
            anchor = key
        elif key in kept:
            additions.setdefault(anchor, []).append(key)
    return additions


def _is_older(block: Sequence[MessageEntry], other: Sequence[MessageEntry]) -> bool:
    times = [_written_at(block), _written_at(other)]
    return all(times) and times[0] < times[1]


def _written_at(block: Sequence[MessageEntry]) -> str:
    value = block[0].value if block else None
    return text_in(value.get("created_at")) if type(value) is dict else ""
