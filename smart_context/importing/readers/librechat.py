"""Conversations of LibreChat."""

from collections.abc import Mapping
from typing import Any

from smart_context.importing.found import (
    FoundChat,
    FoundMessage,
    NotReadable,
    call,
    instructions_of,
    mapping,
    moment,
    objects,
    text_of,
    text_part,
    thought,
    title_of,
)
from smart_context.importing.program import Form, Program

_TOLD = ("promptPrefix", "instructions", "additional_instructions")
"""The fields that may hold the system prompt."""


def librechat(entry: Mapping[str, Any]) -> FoundChat:
    """A conversation of LibreChat: a flat list, or a tree of `children`.

    Raises:
        NotReadable: If it has no messages.
    """
    listed = (
        entry.get("messages") if entry.get("messages") is not None else entry.get("messagesTree")
    )
    if not isinstance(listed, list):
        raise NotReadable("expected messages or messagesTree, found neither")
    chat = FoundChat(
        client="librechat",
        id=text_of(entry.get("conversationId")),
        title=title_of(entry.get("title")),
        created_at=moment(entry.get("createdAt")),
        instructions=instructions_of(
            *(told.get(key) for told in (mapping(entry.get("options")), entry) for key in _TOLD)
        ),
    )
    begun = ((node, text_of(node.get("parentMessageId")) or None) for node in objects(listed))
    waiting = [*begun][::-1]
    while waiting:
        node, parent = waiting.pop()
        role = "user" if node.get("isCreatedByUser") is True else "assistant"
        at, model = node.get("createdAt"), node.get("model")
        message = chat.add(node.get("messageId"), role, at=at, model=model)
        if parent or "parentMessageId" in node:  # otherwise it follows the previous one
            message.parent = parent
        key = message.id
        for block in objects(node.get("content")):
            _librechat_block(block, message)
        if not message.parts and (text := text_of(node.get("text"))):
            message.parts.append(text_part(text))
        for file in objects(node.get("files")):
            name = text_of(file.get("filename"))
            message.assets.append((text_of(file.get("file_id")) or name, name))
        waiting += [(child, key) for child in objects(node.get("children"))][::-1]
    return chat


def _librechat_block(block: Mapping[str, Any], message: FoundMessage) -> None:
    kind = str(block.get("type"))
    inside = block.get(kind)
    text = text_of(mapping(inside).get("value")) or text_of(inside)
    if kind == "think":
        message.parts.append(thought(text))
    elif kind == "tool_call":
        tool = mapping(inside)
        made = (text_of(tool.get("id")) or message.id, text_of(tool.get("name")), tool.get("args"))
        output = tool.get("output")
        message.parts.append(call(*made, output, is_done=output is not None))
    elif text:
        message.parts.append(text_part(text))


def _is_librechat(item: Mapping[str, Any]) -> bool:
    is_list = any("isCreatedByUser" in row for row in objects(item.get("messages"))[:3])
    return is_list or "messagesTree" in item


LIBRECHAT = Program(
    name="librechat",
    title="LibreChat",
    signs=(b'"messagesTree"',),
    conversation=Form(fits=_is_librechat, read=librechat),
)
