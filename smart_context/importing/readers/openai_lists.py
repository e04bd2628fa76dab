"""Messages as OpenAI's API takes them."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from smart_context.chat.messages import messages_of
from smart_context.importing.found import (
    FoundChat,
    FoundMessage,
    NotReadable,
    answered,
    call,
    mapping,
    objects,
    text_of,
    text_part,
    thought,
    title_of,
)
from smart_context.importing.program import Form, Program, Session


def openai_messages(document: Mapping[str, Any]) -> FoundChat:
    """Messages as OpenAI's API takes them.

    Without an id the chat is known by how it begins, up to the first answer, and a message by all
    up to it, so that neither the file's name nor the line matters.

    Raises:
        NotReadable: If there is no list of messages.
    """
    listed = document.get("messages")
    if not isinstance(listed, list):
        raise NotReadable("expected a list of messages, found none")
    chat = FoundChat(client="openai", id="", title=title_of(document.get("title")))
    digest = hashlib.sha256()
    for row in objects(listed):
        told = [row.get("role"), row.get("content"), row.get("tool_calls")]
        digest.update(json.dumps(told, sort_keys=True).encode())
        chat.id = chat.id or (digest.hexdigest() if row.get("role") == "assistant" else "")
        if text_of(row.get("role")) in {"tool", "function", "developer"}:
            name = text_of(row.get("tool_call_id")) or text_of(row.get("name"))
            answered(chat.messages, name, row.get("content"))
            continue
        (said,) = messages_of({"messages": [row]})
        key, at = digest.hexdigest(), row.get("created_at")
        message = chat.add(key, said.role, at=at, model=row.get("model"))
        message.role = said.role
        if words := text_of(row.get("reasoning_content")):
            message.parts.append(thought(words))
        for part in (*said.parts, {"refusal": row.get("refusal")}):
            _openai_part(part, message)
        for tool in (*objects(row.get("tool_calls")), {"function": row.get("function_call")}):
            function = mapping(tool.get("function"))
            if name := text_of(function.get("name")):
                made = call(text_of(tool.get("id")) or name, name, function.get("arguments"))
                message.parts.append(made)
    chat.id = text_of(document.get("id")) or chat.id or digest.hexdigest()
    return chat


def _openai_part(part: Mapping[str, Any], message: FoundMessage) -> None:
    file = mapping(part.get("file"))
    shown = part.get("image_url")
    address = text_of(shown) or text_of(mapping(shown).get("url")) or text_of(file.get("file_data"))
    if address.startswith("data:"):
        message.assets.append((address, text_of(file.get("filename")) or "Picture"))
    elif text := text_of(part.get("refusal")) or address:
        message.parts.append(text_part(text))
    elif part.get("type") in {"input_text", "output_text"}:
        message.parts.append(text_part(text_of(part.get("text"))))
    elif part.get("type"):
        message.parts.append(dict(part))


def _is_list(session: Session) -> bool:
    return any("role" in row and "content" in row for row in session.first)


OPENAI = Program(
    name="openai",
    title="messages as OpenAI's API takes them",
    signs=(b'"messages"',),
    conversation=Form(fits=lambda item: "messages" in item, read=openai_messages),
    session=Form(
        fits=_is_list, read=lambda session: openai_messages({"messages": [*session.rows]})
    ),
)
