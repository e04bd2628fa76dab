"""The atlas as a JSON object: which chat topics each topic stands for."""

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from smart_context.base.values import JsonObject
from smart_context.topics.atlas.values import Atlas

_VERSION = 1
_ATLAS = TypeAdapter(Atlas)


def to_document(atlas: Atlas) -> JsonObject:
    """The document to keep."""
    return {"version": _VERSION, **_ATLAS.dump_python(atlas, mode="json")}


def from_document(document: Mapping[str, Any] | None) -> Atlas:
    """The atlas of a document; an empty one for a missing or damaged document."""
    if document is None or document.get("version") != _VERSION:
        return Atlas()
    try:
        atlas = _ATLAS.validate_python({"topics": document["topics"], **document})
    except (KeyError, ValidationError):
        return Atlas()
    known = {theme.id for theme in atlas.themes}
    return atlas if all(topic.theme in known for topic in atlas.topics) else Atlas()
