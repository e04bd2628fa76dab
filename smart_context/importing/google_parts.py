"""Message parts in the format of Google's API, which Gemini CLI and Qwen Code store."""

from collections.abc import Mapping, Sequence
from typing import Any

from smart_context.importing.found import (
    FoundMessage,
    answered,
    call,
    joined_texts,
    mapping,
    text_of,
    text_part,
    thought,
)

SNAPSHOT = "<state_snapshot>"
"""The beginning of a summary that replaces compressed messages."""


def parts_of(content: object) -> list[Mapping[str, Any]]:
    """The parts of a content, which may be a text, a part, or a list of both."""
    listed = content if isinstance(content, list) else [content]
    parts = ({"text": part} if isinstance(part, str) else part for part in listed)
    return [part for part in parts if isinstance(part, Mapping)]


def add_parts(content: object, found: FoundMessage, before: Sequence[FoundMessage]) -> None:
    """Add parts to a message; a result goes to its call."""
    for part in parts_of(content):
        text = text_of(part.get("text"))
        if asked := mapping(part.get("functionCall")):
            name = text_of(asked.get("id")) or f"{found.id}-{len(found.parts)}"
            found.parts.append(call(name, text_of(asked.get("name")), asked.get("args")))
        elif given := mapping(part.get("functionResponse")):
            answered(before, text_of(given.get("id")), result_of([part]))
        elif data := mapping(part.get("inlineData")):
            address = f"data:{data.get('mimeType')};base64,{text_of(data.get('data'))}"
            found.assets.append((address, text_of(data.get("displayName")) or "Picture"))
        elif text and part.get("thought") is True:
            found.parts.append(thought(text))
        elif text:
            found.parts.append(text_part(text))
    found.parts = joined_texts(found.parts, "")


def result_of(content: object) -> str:
    """The text of a tool's result in these parts."""
    texts = []
    for part in parts_of(content):
        response = mapping(mapping(part.get("functionResponse")).get("response"))
        told = (response.get("output"), response.get("error"), part.get("text"))
        texts.append(next(filter(None, map(text_of, told)), ""))
    return "\n".join(filter(None, texts))


def text_in_parts(content: object) -> str:
    """The text of a content, without thoughts."""
    parts = (part for part in parts_of(content) if part.get("thought") is not True)
    return "".join(text_of(part.get("text")) for part in parts)
