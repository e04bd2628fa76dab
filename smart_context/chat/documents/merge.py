"""Merges two writers' versions of one chat. Pure.

Each change is judged against the version that both started from (docs/chats.md): what only one
side changed is taken from that side, what one side deleted is deleted unless the other edited it,
and what both edited is merged key by key. Where both changed one key, ours wins, as it is newer.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from smart_context.base.errors import InvalidParams
from smart_context.base.values import text_in
from smart_context.chat.documents.document import MessageEntry, NotJson, Version, settle
from smart_context.chat.documents.lineage import Ancestry
from smart_context.chat.documents.merged_branches import merge_branches
from smart_context.chat.documents.ownership import OWNED_BY

_ABSENT: Any = object()
_START: Hashable = None


def saved(
    document: Mapping[str, Any], ancestry: Ancestry, stored: Version | None
) -> tuple[Version, Version]:
    """A client's document as a version, and the same merged with what is stored.

    Whose a chat is stays as it is, whatever the client's document says.

    Args:
        document: The document that the client saves.
        ancestry: The versions that it may descend from.
        stored: The stored version; `None` if there is none.

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
        theirs: The stored version.
        ours: The version to store.

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
