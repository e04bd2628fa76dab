"""Exports of ChatGPT, Claude and Gemini."""

import html
import re
from collections.abc import Mapping
from typing import Any

from smart_context.base.values import JsonObject
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

_HIDDEN = {"user_editable_context", "model_editable_context", "reasoning_recap"}
_ASSET = re.compile(r"(?:sediment|file-service)://(?:[^#]*#)?([\w-]+)")
_BLOCK_END = re.compile(r"<(?:br|/p|/div|/li|/h[1-6])[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
_PROMPTED = re.compile(
    r"^(?:Prompted with:|Asked (?:Gemini|Bard):|Prompted|Said|Asked|Branched|Answered)\s+",
    re.IGNORECASE,
)
_NOT_ASKED = re.compile(
    r"(?:Created|Used|Added|Gave|Selected|Shared|Deleted|Viewed|Visited|Edited|Pinned|Renamed"
    r"|Exported|Updated)\s"
)
_ATTACHED = re.compile(r"\sAttached \d+ files?\.?$")
_GEMINI = re.compile(r"gemini|bard", re.IGNORECASE)
_MANY_BREAKS = re.compile(r"\n{3,}")
_MOST_HTML = 2_000_000


def chatgpt(conversation: Mapping[str, Any]) -> FoundChat:
    """A conversation of ChatGPT's export.

    Raises:
        NotReadable: If it has neither an id nor messages, or they are not in the known form.
    """
    name = text_of(conversation.get("conversation_id")) or text_of(conversation.get("id"))
    nodes = _object_or_none(conversation.get("mapping"), "mapping")
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
        if told := _object_or_none(node, f"mapping.{key}"):
            _chatgpt_message(str(key), told, chat)
    _pair_calls(chat)
    return chat


def _object_or_none(value: object, name: str) -> Mapping[str, Any]:
    """An object, empty if it is missing.

    Raises:
        NotReadable: If it is something else.
    """
    if value is not None and not isinstance(value, Mapping):
        raise NotReadable(f"{name[:80]}: expected an object, found {type(value).__name__}")
    return mapping(value)


def _chatgpt_message(key: str, node: Mapping[str, Any], chat: FoundChat) -> None:
    said = _object_or_none(node.get("message"), f"mapping.{key}.message")
    author, metadata = mapping(said.get("author")), mapping(said.get("metadata"))
    content = mapping(said.get("content"))
    kind, role = text_of(content.get("content_type")), text_of(author.get("role"))
    model, at = metadata.get("model_slug"), said.get("create_time")
    found = chat.add(key, role or "user", at=at, model=model)
    found.parent = text_of(node.get("parent")) or None
    is_hidden = metadata.get("is_visually_hidden_from_conversation") is True
    if role == "system" or is_hidden or kind in _HIDDEN:
        return
    text, assets = _chatgpt_text(content)
    recipient = text_of(said.get("recipient"))
    if role == "tool":
        found.parts.append(
            {"type": "tool_result", "name": text_of(author.get("name")), "text": text}
        )
    elif role == "assistant" and recipient not in {"", "all"}:
        found.parts.append(call(key, recipient, text))
    elif kind == "thoughts" or (role == "assistant" and said.get("channel") == "analysis"):
        found.parts.append(thought(text))
    elif text:
        found.parts.append(text_part(text))
    for file in objects(metadata.get("attachments")):
        if name := text_of(file.get("id")):
            assets[name] = text_of(file.get("name"))
    found.assets.extend(assets.items())


def _chatgpt_text(content: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """What a message says, and the files that it shows, by their ids."""
    assets: dict[str, str] = {}
    thoughts = objects(content.get("thoughts"))
    texts = [text_of(one.get("content")) or text_of(one.get("summary")) for one in thoughts]
    texts.append(text_of(content.get("text")) or text_of(content.get("result")))
    parts = content.get("parts")
    for part in parts if isinstance(parts, list) else []:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping):
            texts.append(text_of(part.get("text")))
            if pointer := _ASSET.search(text_of(part.get("asset_pointer"))):
                assets[pointer[1]] = ""
    return "\n".join(filter(None, texts)), assets


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
    for said in objects(conversation.get("chat_messages")):
        found = chat.add(said.get("uuid"), said.get("sender"), at=said.get("created_at"))
        found.parent = text_of(said.get("parent_message_uuid")) or found.parent
        _claude_parts(said, found, chat)
    return chat


def _claude_parts(said: Mapping[str, Any], found: FoundMessage, chat: FoundChat) -> None:
    add_blocks(said.get("content"), found, chat.messages[:-1])
    if not found.parts and (text := text_of(said.get("text"))):
        found.parts.append(text_part(text))
    for file in objects(said.get("attachments")):
        if text := text_of(file.get("extracted_content")):
            name = text_of(file.get("file_name")) or "Attached text"
            found.parts.append(text_part(f"{name}:\n\n{text}"))
    for file in objects(said.get("files")):
        name = text_of(file.get("file_uuid")) or text_of(file.get("file_name"))
        if name:
            found.assets.append((name, text_of(file.get("file_name"))))


def gemini(activity: Mapping[str, Any], number: int = 0) -> FoundChat | None:
    """One activity of Gemini's `My Activity` file: a question with its answer.

    `None` for activities of other products, and for what is no question, such as feedback.

    Raises:
        NotReadable: If it has no title.
    """
    title = text_of(activity.get("title"))
    if not title:
        raise NotReadable("expected title, found none")
    products = activity.get("products")
    shown = f"{activity.get('header') or ''} {products or ''}".strip()
    texts = [_plain(text_of(item.get("html"))) for item in objects(activity.get("safeHtmlItem"))]
    is_asked = _PROMPTED.match(title) or (any(texts) and not _NOT_ASKED.match(title))
    if not is_asked or (shown and not _GEMINI.search(shown)):
        return None
    asked = _ATTACHED.sub("", _PROMPTED.sub("", title))
    at = activity.get("time")
    chat = FoundChat(
        client="gemini",
        id=text_of(at) or f"{number}-{title}",
        title=title_of(asked),
        created_at=moment(at),
    )
    chat.add("q", "user", asked, at=at)
    if said := "\n\n".join(filter(None, texts)):
        chat.add("a", "assistant", said, at=at)
    return chat


def _plain(source: str) -> str:
    """The text of an HTML fragment, a line for each block."""
    lined = _BLOCK_END.sub("\n", source[:_MOST_HTML])
    lines = (line.strip() for line in html.unescape(_TAG.sub("", lined)).splitlines())
    return _MANY_BREAKS.sub("\n\n", "\n".join(lines)).strip()
