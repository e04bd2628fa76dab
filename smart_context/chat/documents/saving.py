"""What to store when a whole document is saved, and when a part of it is changed. Pure."""

from collections.abc import Mapping
from typing import Any

from smart_context.chat.documents.document import NotJson, Version, settle
from smart_context.chat.documents.lineage import Ancestry
from smart_context.chat.documents.merge import merge
from smart_context.errors import InvalidParams


def saved(
    document: Mapping[str, Any], ancestry: Ancestry, stored: Version | None
) -> tuple[Version, Version]:
    """What a client saves, by itself and merged with what is stored (`None`: nothing is).

    Raises:
        InvalidParams: It is not JSON, or its `messages` is no list.
    """
    ours = changed(document, stored)
    if stored is None:
        return ours, ours
    return ours, merge(ancestry.ancestor_of(ours) or Version(), stored, ours)


def changed(document: Mapping[str, Any], stored: Version | None) -> Version:
    """A changed copy of what is stored, as a version that shares what is equal.

    Raises:
        InvalidParams: It is not JSON, or its `messages` is no list.
    """
    if not isinstance(document, Mapping):
        raise InvalidParams("A chat's document is a JSON object with a list 'messages'.")
    try:
        return settle(document, stored or Version())
    except NotJson as error:
        raise InvalidParams(f"The chat was not saved: {error}.") from error
