"""The export of Claude."""

from collections.abc import Mapping
from typing import Any

from smart_context.importing.found import (
    FoundChat,
    FoundMessage,
    NotReadable,
    add_blocks,
    moment,
    objects,
    text_of,
    text_part,
    title_of,
)
from smart_context.importing.program import Form, Program


def claude(conversation: Mapping[str, Any]) -> FoundChat:
    """A conversation of Claude's export.

    Raises:
        NotReadable: If it has no list of messages.
    """
    if not isinstance(conversation.get("chat_messages"), list):
        raise NotReadable("expected chat_messages to be a list, found something else")
    chat = FoundChat(
        client="claude",
        id=text_of(conversation.get("uuid")),
        title=title_of(conversation.get("name")),
        created_at=moment(conversation.get("created_at")),
        current=text_of(conversation.get("current_leaf_message_uuid")) or None,
    )
    for said in objects(conversation.get("chat_messages")):
        found = chat.add(said.get("uuid"), said.get("sender"), at=said.get("created_at"))
        found.parent = text_of(said.get("parent_message_uuid")) or found.parent
        _claude_parts(said, found, chat)
    return chat


def _claude_parts(said: Mapping[str, Any], found: FoundMessage, chat: FoundChat) -> None:
    add_blocks(said.get("content"), found, chat.messages)
    if not found.parts and (text := text_of(said.get("text"))):
        found.parts.append(text_part(text))
    for file in objects(said.get("attachments")):
        if text := text_of(file.get("extracted_content")):
            name = text_of(file.get("file_name")) or "Attached text"
            found.parts.append(text_part(f"{name}:\n\n{text}"))
    for file in objects(said.get("files")):
        if name := text_of(file.get("file_uuid")) or text_of(file.get("file_name")):
            found.assets.append((name, text_of(file.get("file_name"))))


CLAUDE = Program(
    name="claude",
    title="Claude",
    signs=(b'"chat_messages"',),
    conversation=Form(fits=lambda item: "chat_messages" in item, read=claude),
)
