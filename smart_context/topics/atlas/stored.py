"""The atlas as a JSON object: which chat topics each topic stands for."""

from collections.abc import Mapping
from typing import Any

from smart_context.base.values import JsonObject
from smart_context.chat.messages import ChatId
from smart_context.topics.atlas.values import Atlas, Theme, Topic

_VERSION = 1


def to_document(atlas: Atlas) -> JsonObject:
    """The document to keep."""
    return {
        "version": _VERSION,
        "merged": atlas.merged,
        "themes": [{"id": theme.id, "label": theme.label} for theme in atlas.themes],
        "topics": [
            {
                "id": topic.id,
                "label": topic.label,
                "theme": topic.theme,
                "chats": [list(key) for key in topic.members],
            }
            for topic in atlas.topics
        ],
    }


def from_document(document: Mapping[str, Any] | None) -> Atlas:
    """The atlas of a document; an empty one for a missing or damaged document."""
    if document is None or document.get("version") != _VERSION:
        return Atlas()
    try:
        themes = tuple(
            Theme(id=_text(each["id"]), label=_text(each["label"])) for each in document["themes"]
        )
        topics = tuple(
            Topic(
                id=_text(each["id"]),
                label=_text(each["label"]),
                theme=_text(each["theme"]),
                members=tuple((ChatId(_text(c)), _text(t)) for c, t in each["chats"]),
            )
            for each in document["topics"]
        )
        merged = document["merged"]
        if type(merged) is not int or not {t.theme for t in topics} <= {t.id for t in themes}:
            return Atlas()
    except (KeyError, TypeError, ValueError):
        return Atlas()
    return Atlas(topics=topics, themes=themes, merged=merged)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a text, found {type(value).__name__}")
    return value
