"""The blocks of Anthropic's API, as Claude and Claude Code write them."""

from collections.abc import Mapping, Sequence
from typing import Any

from smart_context.importing.found import (
    FoundMessage,
    answered,
    call,
    mapping,
    objects,
    text_of,
    text_part,
    thought,
)


def add_blocks(content: object, found: FoundMessage, before: Sequence[FoundMessage]) -> None:
    """Add the blocks to a message as parts; a result goes to its call, if that is there."""
    if isinstance(content, str) and content:
        found.parts.append(text_part(content))
    for block in objects(content):
        kind, text = block.get("type"), text_of(block.get("text"))
        if kind in {"text", "voice_note"} and text:
            found.parts.append(text_part(text))
        elif kind == "thinking":
            found.parts.append(thought(text_of(block.get("thinking"))))
        elif kind == "tool_use":
            name = text_of(block.get("id")) or f"{found.id}-{len(found.parts)}"
            found.parts.append(call(name, text_of(block.get("name")), block.get("input")))
        elif kind == "tool_result":
            _add_result(block, found, before)
        elif kind in {"image", "document"}:
            source = mapping(block.get("source"))
            address = f"data:{source.get('media_type')};base64,{text_of(source.get('data'))}"
            label = "Picture" if kind == "image" else "Document"
            found.assets.append((address, text_of(block.get("title")) or label))


def _add_result(
    block: Mapping[str, Any], found: FoundMessage, before: Sequence[FoundMessage]
) -> None:
    result, name = text_in(block.get("content")), text_of(block.get("tool_use_id"))
    name = name or _open_call(found, text_of(block.get("name")))
    if not answered([*before, found], name, result) and result and found.role == "assistant":
        label = text_of(block.get("name")) or "tool"
        found.parts.append(call(name, label, {}, result, is_done=True))


def _open_call(found: FoundMessage, tool: str) -> str:
    """The id of the first open call of a tool: what claude.ai exports has no ids."""
    calls = (part for part in found.parts if part.get("state") == "call")
    ids = (str(part["tool_call_id"]) for part in calls if tool in {"", part["tool_name"]})
    return next(ids, "")


def text_in(content: object) -> str:
    """The text of a block's content: a text, an object with one, or a list of blocks."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return text_of(content.get("content")) or text_of(content.get("output"))
    return "\n".join(filter(None, (text_of(block.get("text")) for block in objects(content))))
