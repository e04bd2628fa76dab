"""Exports of ChatGPT, Claude and Gemini."""

import html
import re
from collections.abc import Mapping
from typing import Any, cast

from smart_context.base.values import JsonObject
from smart_context.chat.messages import ROLES, Role
from smart_context.importing.found import (
    FoundChat,
    FoundMessage,
    NotReadable,
    call,
    mapping,
    moment,
    objects,
    text_of,
    text_part,
    thought,
    title_of,
)
from smart_context.importing.readers.blocks import add_blocks

_TEXTS = {"text", "multimodal_text", "code", "execution_output"}
_HIDDEN = {"user_editable_context", "model_editable_context", "reasoning_recap"}
_ASSET = re.compile(r"(?:sediment|file-service)://([\w-]+)")
_BLOCK_END = re.compile(r"<(?:br|/p|/div|/li|/h[1-6])[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
_PROMPTED = re.compile(r"^(?:Prompted|Said|Asked)\s+", re.IGNORECASE)
_MANY_BREAKS = re.compile(r"\n{3,}")
_MOST_HTML = 2_000_000


def chatgpt(conversation: Mapping[str, Any]) -> FoundChat:
    """A conversation of ChatGPT's export.

    Raises:
        NotReadable: If it has neither an id nor messages.
    """
    name = text_of(conversation.get("conversation_id")) or text_of(conversation.get("id"))
    nodes = mapping(conversation.get("mapping"))
    if not name and not nodes:
        raise NotReadable("expected conversation_id or mapping, found neither")
    chat = FoundChat(
        client="chatgpt",
        id=name or str(conversation.get("title")),
        title=title_of(conversation.get("title")),
        created_at=moment(conversation.get("create_time")),
        current=text_of(conversation.get("current_node")) or None,
    )
    for key, node in nodes.items():
        if isinstance(node, Mapping):
            chat.messages.append(_chatgpt_message(str(key), node))
    _pair_calls(chat)
    return chat


def _chatgpt_message(key: str, node: Mapping[str, Any]) -> FoundMessage:
    said = mapping(node.get("message"))
    author, metadata = mapping(said.get("author")), mapping(said.get("metadata"))
    content = mapping(said.get("content"))
    kind = text_of(content.get("content_type"))
    role = _role(author.get("role"))
    found = FoundMessage(
        id=key,
        role=role,
        parent=text_of(node.get("parent")) or None,
        created_at=moment(said.get("create_time")),
        model=text_of(metadata.get("model_slug")) if role == "assistant" else "",
    )
    is_hidden = metadata.get("is_visually_hidden_from_conversation") is True
    if role == "system" or is_hidden or kind in _HIDDEN:
        return found
    if kind == "thoughts":
        thoughts = objects(content.get("thoughts"))
        words = [text_of(one.get("content")) or text_of(one.get("summary")) for one in thoughts]
        found.parts.append(thought("\n\n".join(filter(None, words))))
        return found
    text = _chatgpt_text(content, found)
    recipient = text_of(said.get("recipient"))
    if role == "tool":
        found.parts.append(
            {"type": "tool_result", "name": text_of(author.get("name")), "text": text}
        )
    elif role == "assistant" and recipient not in {"", "all"}:
        found.parts.append(call(key, recipient, text))
    elif text:
        found.parts.append(text_part(text))
    for file in objects(metadata.get("attachments")):
        if name := text_of(file.get("id")):
            found.assets.append((name, text_of(file.get("name")) or name))
    return found


def _chatgpt_text(content: Mapping[str, Any], found: FoundMessage) -> str:
    if text_of(content.get("content_type")) not in _TEXTS | {""} and not content.get("parts"):
        return text_of(content.get("text")) or text_of(content.get("result"))
    texts = [text_of(content.get("text"))]
    parts = content.get("parts")
    for part in parts if isinstance(parts, list) else []:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping):
            texts.append(text_of(part.get("text")))
            if pointer := _ASSET.search(text_of(part.get("asset_pointer"))):
                found.assets.append((pointer[1], pointer[1]))
    return "\n".join(filter(None, texts))


def _pair_calls(chat: FoundChat) -> None:
    """Put results into their calls; they have no ids, so each answers the last open call."""
    known = {message.id: message for message in chat.messages}
    for message in chat.messages:
        results = [part for part in message.parts if part.get("type") == "tool_result"]
        if not results:
            continue
        message.parts = [part for part in message.parts if part.get("type") != "tool_result"]
        for result in results:
            caller = _open_call(message, known)
            if caller is not None:
                caller.update(state="result", result=result["text"])
            elif result["text"]:
                made = call(message.id, result["name"] or "tool", {}, result["text"], is_done=True)
                message.role = "assistant"
                message.parts.append(made)


def _open_call(message: FoundMessage, known: Mapping[str, FoundMessage]) -> JsonObject | None:
    before, seen = known.get(message.parent or ""), {message.id}
    while before is not None and before.id not in seen:
        seen.add(before.id)
        for part in reversed(before.parts):
            if part.get("type") == "tool_call":
                return part if part.get("state") == "call" else None
        if before.role == "user":
            return None
        before = known.get(before.parent or "")
    return None


def claude(conversation: Mapping[str, Any]) -> FoundChat:
    """A conversation of Claude's export.

    Raises:
        NotReadable: If it has no id, or no list of messages.
    """
    name = text_of(conversation.get("uuid"))
    if not name or not isinstance(conversation.get("chat_messages"), list):
        raise NotReadable("expected uuid and chat_messages, found one of them or neither")
    chat = FoundChat(
        client="claude",
        id=name,
        title=title_of(conversation.get("name")),
        created_at=moment(conversation.get("created_at")),
        current=text_of(conversation.get("current_leaf_message_uuid")) or None,
    )
    before: str | None = None
    for number, said in enumerate(objects(conversation.get("chat_messages"))):
        key = text_of(said.get("uuid")) or str(number)
        parent = text_of(said.get("parent_message_uuid")) or before
        found = FoundMessage(
            id=key,
            role="user" if said.get("sender") == "human" else "assistant",
            parent=parent,
            created_at=moment(said.get("created_at")),
        )
        _claude_parts(said, found, chat)
        chat.messages.append(found)
        before = key
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
        name = text_of(file.get("file_uuid")) or text_of(file.get("file_name"))
        if name:
            found.assets.append((name, text_of(file.get("file_name")) or name))


def gemini(activity: Mapping[str, Any], number: int = 0) -> FoundChat:
    """One activity of Gemini's `My Activity` file: a question with its answer.

    Raises:
        NotReadable: If it has no title.
    """
    title = text_of(activity.get("title"))
    if not title:
        raise NotReadable("expected title, found none")
    asked = _PROMPTED.sub("", title)
    at = moment(activity.get("time"))
    texts = [_plain(text_of(item.get("html"))) for item in objects(activity.get("safeHtmlItem"))]
    chat = FoundChat(
        client="gemini",
        id=text_of(activity.get("time")) or f"{number}-{title}",
        title=title_of(asked),
        created_at=at,
    )
    chat.messages.append(FoundMessage(id="q", role="user", parts=[text_part(asked)], created_at=at))
    if said := "\n\n".join(filter(None, texts)):
        answer = [text_part(said)]
        chat.messages.append(
            FoundMessage(id="a", role="assistant", parts=answer, parent="q", created_at=at)
        )
    return chat


def _plain(source: str) -> str:
    """The text of an HTML fragment, a line for each block."""
    lined = _BLOCK_END.sub("\n", source[:_MOST_HTML])
    lines = (line.strip() for line in html.unescape(_TAG.sub("", lined)).splitlines())
    return _MANY_BREAKS.sub("\n\n", "\n".join(lines)).strip()


def _role(value: object) -> Role:
    return cast("Role", value) if value in ROLES else "user"
