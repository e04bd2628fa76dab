"""The export of ChatGPT."""

import re
from collections.abc import Mapping
from typing import Any

from smart_context.base.values import JsonObject
from smart_context.importing.found import (
    MOST_BEFORE,
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
from smart_context.importing.program import Form, Program

_HIDDEN = {"user_editable_context", "model_editable_context", "reasoning_recap"}
_NAMED_ONLY = {"is_anonymous", "rating"}
"""Keys of shares and ratings, which name conversations in other files of ChatGPT's export."""
_ASSET = re.compile(r"(?:sediment|file-service)://(?:[^#]*#)?([\w-]+)")
_CITED = re.compile("\ue200[^\ue200\ue201]*\ue201")
"""ChatGPT's citation marks, between characters for private use."""


def chatgpt(conversation: Mapping[str, Any]) -> FoundChat | None:
    """A conversation of ChatGPT's export.

    `None` for an entry that only names a conversation, such as a share or a rating.

    Raises:
        NotReadable: If it has neither an id nor messages, or they are not in the known form.
    """
    if "mapping" not in conversation and not _NAMED_ONLY.isdisjoint(conversation):
        return None
    name = text_of(conversation.get("conversation_id")) or text_of(conversation.get("id"))
    nodes = _object_or_none(conversation.get("mapping"), "mapping")
    if not name and not nodes:
        raise NotReadable("expected conversation_id or mapping, found neither")
    chat = FoundChat(
        client="chatgpt",
        id=name,
        title=title_of(conversation.get("title")),
        created_at=moment(conversation.get("create_time")),
        current=text_of(conversation.get("current_node")) or None,
    )
    model = text_of(conversation.get("default_model_slug"))
    for key, node in nodes.items():
        if told := _object_or_none(node, f"mapping.{key}"):
            _chatgpt_message(str(key), told, chat, "" if model == "auto" else model)
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


def _chatgpt_message(key: str, node: Mapping[str, Any], chat: FoundChat, model: str) -> None:
    said = _object_or_none(node.get("message"), f"mapping.{key}.message")
    author, metadata = mapping(said.get("author")), mapping(said.get("metadata"))
    content = mapping(said.get("content"))
    kind, role = text_of(content.get("content_type")), text_of(author.get("role"))
    model, at = metadata.get("model_slug") or model, said.get("create_time")
    found = chat.add(key, role or "user", at=at, model=model)
    found.parent = text_of(node.get("parent")) or None
    is_hidden = metadata.get("is_visually_hidden_from_conversation") is True
    if role == "system" or is_hidden or kind in _HIDDEN:
        return
    text, assets = _chatgpt_text(content)
    text = _without_marks(text, metadata)
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
    found.assets.extend((assets | _chatgpt_files(metadata)).items())


def _chatgpt_files(metadata: Mapping[str, Any]) -> dict[str, str]:
    """The files drawn by code and the attached files: names by id."""
    run = mapping(metadata.get("aggregate_result"))
    drawn = (_ASSET.search(text_of(one.get("image_url"))) for one in objects(run.get("messages")))
    files = {pointer[1]: "" for pointer in drawn if pointer}
    attached = objects(metadata.get("attachments"))
    return files | {text_of(file.get("id")): text_of(file.get("name")) for file in attached}


def _without_marks(text: str, metadata: Mapping[str, Any]) -> str:
    """The text, with ChatGPT's citation marks replaced by the names of the sources."""
    sources: dict[str, str] = {}
    for source in objects(metadata.get("content_references")):
        sources.setdefault(text_of(source.get("matched_text")), text_of(source.get("alt")))
    return _CITED.sub(lambda mark: sources.get(mark[0], ""), text)


def _chatgpt_text(content: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """The text of a message, and its files: names by id."""
    assets: dict[str, str] = {}
    thoughts = content.get("thoughts")
    texts = [text_of(thoughts)]
    texts += [_first(one, "content", "summary") for one in objects(thoughts)]
    if content.get("content_type") == "tether_quote":
        texts += [text_of(content.get("title")), text_of(content.get("url"))]
    texts.append(_first(content, "text", "result", "summary"))
    parts = content.get("parts")
    for part in parts if isinstance(parts, list) else []:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping):
            texts.append(text_of(part.get("text")))
            if pointer := _ASSET.search(text_of(part.get("asset_pointer"))):
                assets[pointer[1]] = ""
    return "\n".join(filter(None, texts)), assets


def _first(value: Mapping[str, Any], *keys: str) -> str:
    """The first non-empty text among these fields; empty if there is none."""
    return next(filter(None, (text_of(value.get(key)) for key in keys)), "")


def _pair_calls(chat: FoundChat) -> None:
    """Add results to their calls; they have no ids, so each belongs to the last call before it."""
    known = {message.id: message for message in chat.messages}
    for message in chat.messages:
        results = [part for part in message.parts if part.get("type") == "tool_result"]
        if not results:
            continue
        message.parts = [part for part in message.parts if part.get("type") != "tool_result"]
        for result in results:
            caller = _call_before(message, known)
            if caller is not None:
                told = (text_of(caller.get("result")), result["text"])
                caller.update(state="result", result="\n\n".join(filter(None, told)))
            elif result["text"]:
                made = call(message.id, result["name"] or "tool", {}, result["text"], is_done=True)
                message.parts.append(made)


def _call_before(message: FoundMessage, known: Mapping[str, FoundMessage]) -> JsonObject | None:
    """The last call before a result, which may have results already; `None` if it is too far up."""
    before = known.get(message.parent or "")
    for _ in range(MOST_BEFORE):
        if before is None or before.role == "user":
            return None
        for part in reversed(before.parts):
            if part.get("type") == "tool_call":
                return part
        before = known.get(before.parent or "")
    return None


CHATGPT = Program(
    name="chatgpt",
    title="ChatGPT",
    signs=(b'"mapping"',),
    conversation=Form(
        fits=lambda item: (
            "mapping" in item or ("conversation_id" in item and "messages" not in item)
        ),
        read=chatgpt,
    ),
)
