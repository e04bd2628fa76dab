"""Chats of programs for many models: Open WebUI, LibreChat, LobeChat, SillyTavern, Chatbox."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from smart_context.chat.messages import messages_of
from smart_context.importing.found import (
    FoundChat,
    FoundMessage,
    NotReadable,
    answered,
    call,
    mapping,
    moment,
    objects,
    text_of,
    text_part,
    thought,
    title_of,
)

_OPENING = re.compile(r'<details type="(reasoning|tool_calls)"[^<>]*>')
_CLOSING, _END_OF_SUMMARY = "</details>", "</summary>"
_QUOTED = re.compile(r"^> ?", re.MULTILINE)
_MOST_DEEP = 10_000


def open_webui(entry: Mapping[str, Any]) -> FoundChat:
    """A chat of Open WebUI's export.

    Raises:
        NotReadable: If it has no history of messages.
    """
    chat = mapping(entry.get("chat")) or entry
    history = mapping(chat.get("history"))
    nodes = mapping(history.get("messages"))
    if not nodes:
        raise NotReadable("expected chat.history.messages, found none")
    found = FoundChat(
        client="open-webui",
        id=text_of(entry.get("id")) or text_of(chat.get("id")) or str(chat.get("title")),
        title=title_of(entry.get("title") or chat.get("title")),
        created_at=moment(entry.get("created_at") or chat.get("timestamp")),
        current=text_of(history.get("currentId")) or None,
    )
    for key, node in nodes.items():
        if not isinstance(node, Mapping):
            continue
        message = FoundMessage(
            id=str(key),
            role="user" if node.get("role") == "user" else "assistant",
            parent=text_of(node.get("parentId")) or None,
            created_at=moment(node.get("timestamp")),
            model=text_of(node.get("model")),
        )
        if node.get("role") != "system":
            _webui_parts(node, message)
        found.messages.append(message)
    return found


def _webui_parts(node: Mapping[str, Any], message: FoundMessage) -> None:
    for item in objects(node.get("output")):
        _webui_output(item, message)
    text = text_of(node.get("content"))
    thoughts, plain = _without_details(text)
    if not message.parts:
        message.parts.extend(map(thought, thoughts))
    if plain:
        message.parts.append(text_part(plain))
    for file in objects(node.get("files")):
        inner = mapping(file.get("file"))
        if content := text_of(mapping(inner.get("data")).get("content")):
            name = text_of(file.get("name")) or "Attached text"
            message.parts.append(text_part(f"{name}:\n\n{content}"))


def _without_details(text: str) -> tuple[list[str], str]:
    """The thoughts that a text holds between `<details>`, and the text without these."""
    thoughts: list[str] = []
    rest: list[str] = []
    at = 0
    while opening := _OPENING.search(text, at):
        end = text.find(_CLOSING, opening.end())
        if end < 0:
            break
        rest.append(text[at : opening.start()])
        if opening[1] == "reasoning":
            inside = text[opening.end() : end]
            told = inside.partition(_END_OF_SUMMARY)[2] or inside
            thoughts.append(_QUOTED.sub("", told).strip())
        at = end + len(_CLOSING)
    return thoughts, "".join((*rest, text[at:])).strip()


def _webui_output(item: Mapping[str, Any], message: FoundMessage) -> None:
    kind = item.get("type")
    if kind == "reasoning":
        told = (*objects(item.get("content")), *objects(item.get("summary")))
        words = [text_of(one.get("text")) for one in told]
        message.parts.append(thought("\n".join(filter(None, words))))
    elif kind == "function_call":
        name = text_of(item.get("call_id")) or text_of(item.get("id"))
        message.parts.append(call(name, text_of(item.get("name")), item.get("arguments")))
    elif kind == "function_call_output":
        answered([message], text_of(item.get("call_id")), item.get("output"))


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
        id=text_of(entry.get("conversationId")) or str(entry.get("title")),
        title=title_of(entry.get("title")),
        created_at=moment(entry.get("createdAt")),
    )
    waiting = [(node, text_of(node.get("parentMessageId")) or None) for node in objects(listed)]
    while waiting and len(chat.messages) < _MOST_DEEP * 10:
        node, parent = waiting.pop(0)
        key = text_of(node.get("messageId")) or str(len(chat.messages))
        message = FoundMessage(
            id=key,
            role="user" if node.get("isCreatedByUser") is True else "assistant",
            parent=parent,
            created_at=moment(node.get("createdAt")),
            model=text_of(node.get("model")) if not node.get("isCreatedByUser") else "",
        )
        for block in objects(node.get("content")):
            _librechat_block(block, message)
        if not message.parts and (text := text_of(node.get("text"))):
            message.parts.append(text_part(text))
        chat.messages.append(message)
        waiting[:0] = [(child, key) for child in objects(node.get("children"))]
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


def lobechat(document: Mapping[str, Any]) -> Iterator[FoundChat]:
    """The chats of LobeChat's export: one for each topic, and one for each session's rest."""
    data = mapping(document.get("data")) or mapping(document.get("state"))
    names = {text_of(one.get("id")): one for one in objects(data.get("topics"))}
    names |= {text_of(one.get("id")): one for one in objects(data.get("sessions"))}
    tools = {text_of(one.get("id")): one for one in objects(data.get("messagePlugins"))}
    rows: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in objects(data.get("messages")):
        rows[text_of(row.get("topicId")) or text_of(row.get("sessionId")) or "inbox"].append(row)
    for name, said in rows.items():
        known = mapping(names.get(name))
        chat = FoundChat(
            client="lobechat",
            id=name,
            title=title_of(known.get("title") or mapping(known.get("meta")).get("title")),
            created_at=moment(known.get("createdAt")),
        )
        for row in sorted(said, key=lambda row: moment(row.get("createdAt"))):
            _lobechat_message(row, chat, mapping(tools.get(text_of(row.get("id")))) or row)
        yield chat


def _lobechat_message(row: Mapping[str, Any], chat: FoundChat, plugin: Mapping[str, Any]) -> None:
    if row.get("role") == "tool":
        name = text_of(plugin.get("tool_call_id") or plugin.get("toolCallId"))
        answered(chat.messages, name, row.get("content"))
        return
    before = chat.messages[-1].id if chat.messages else None
    message = FoundMessage(
        id=text_of(row.get("id")) or str(len(chat.messages)),
        role="user" if row.get("role") == "user" else "assistant",
        parent=text_of(row.get("parentId")) or before,
        created_at=moment(row.get("createdAt")),
        model=text_of(row.get("model")),
    )
    if words := text_of(mapping(row.get("reasoning")).get("content")):
        message.parts.append(thought(words))
    if text := text_of(row.get("content")):
        message.parts.append(text_part(text))
    for tool in objects(row.get("tools")):
        label = text_of(tool.get("apiName")) or text_of(tool.get("identifier"))
        message.parts.append(call(text_of(tool.get("id")), label, tool.get("arguments")))
    if row.get("role") != "system":
        chat.messages.append(message)


def sillytavern(rows: Sequence[Mapping[str, Any]], name: str) -> FoundChat:
    """A chat of SillyTavern: its first line is about the chat; other swipes are branches."""
    about = rows[0] if rows and "mes" not in rows[0] else {}
    integrity = text_of(mapping(about.get("chat_metadata")).get("integrity"))
    chat = FoundChat(
        client="sillytavern",
        id=integrity or name,
        title=title_of(about.get("character_name") or name),
        created_at=moment(about.get("create_date")),
    )
    before: str | None = None
    for number, row in enumerate(rows):
        if "mes" not in row or row.get("is_system") is True:
            continue
        swipes = row.get("swipes")
        texts = (
            [text for text in swipes if isinstance(text, str)] if isinstance(swipes, list) else []
        )
        shown = row.get("swipe_id") if isinstance(row.get("swipe_id"), int) else 0
        extra = mapping(row.get("extra"))
        current = f"{number}-{shown if texts else 0}"
        for place, text in enumerate(texts or [text_of(row.get("mes"))]):
            parts = [text_part(text_of(row.get("mes")) if f"{number}-{place}" == current else text)]
            if f"{number}-{place}" == current and (words := text_of(extra.get("reasoning"))):
                parts.insert(0, thought(words))
            chat.messages.append(
                FoundMessage(
                    id=f"{number}-{place}",
                    role="user" if row.get("is_user") is True else "assistant",
                    parts=parts,
                    parent=before,
                    created_at=moment(row.get("send_date")),
                    model=text_of(extra.get("model")),
                )
            )
        before = chat.current = current
    return chat


def chatbox(document: Mapping[str, Any]) -> Iterator[FoundChat]:
    """The sessions of Chatbox's export."""
    sessions = [
        value
        for key, value in document.items()
        if str(key).startswith("session:") and isinstance(value, Mapping)
    ]
    for session in [*sessions, *objects(document.get("chat-sessions"))]:
        chat = FoundChat(
            client="chatbox",
            id=text_of(session.get("id")) or str(session.get("name")),
            title=title_of(session.get("name")),
        )
        for row in objects(session.get("messages")):
            message = FoundMessage(
                id=text_of(row.get("id")) or str(len(chat.messages)),
                role="user" if row.get("role") == "user" else "assistant",
                parent=chat.messages[-1].id if chat.messages else None,
                created_at=moment(row.get("timestamp")),
                model=text_of(row.get("model")),
            )
            for part in objects(row.get("contentParts")):
                _chatbox_part(part, message)
            if not message.parts and (text := text_of(row.get("content"))):
                message.parts.append(text_part(text))
            if row.get("role") != "system":
                chat.messages.append(message)
        yield chat


def _chatbox_part(part: Mapping[str, Any], message: FoundMessage) -> None:
    text = text_of(part.get("text"))
    if part.get("type") == "reasoning":
        message.parts.append(thought(text))
    elif part.get("type") == "tool-call":
        made = (text_of(part.get("toolCallId")), text_of(part.get("toolName")), part.get("args"))
        result = part.get("result")
        message.parts.append(call(*made, result, is_done=result is not None))
    elif text:
        message.parts.append(text_part(text))


def openai_messages(document: Mapping[str, Any], name: str) -> FoundChat:
    """Messages as OpenAI's API takes them.

    Raises:
        NotReadable: If there is no list of messages.
    """
    listed = document.get("messages")
    if not isinstance(listed, list):
        raise NotReadable("expected a list of messages, found none")
    chat = FoundChat(client="openai", id=name, title=title_of(document.get("title")))
    for row in objects(listed):
        if row.get("role") == "tool":
            answered(chat.messages, text_of(row.get("tool_call_id")), row.get("content"))
            continue
        (said,) = messages_of({"messages": [row]})
        message = FoundMessage(
            id=str(len(chat.messages)),
            role=said.role,
            parts=[dict(part) for part in said.parts],
            parent=chat.messages[-1].id if chat.messages else None,
            created_at=moment(row.get("created_at")),
            model=text_of(row.get("model")),
        )
        for tool in objects(row.get("tool_calls")):
            function = mapping(tool.get("function"))
            made = (text_of(tool.get("id")), text_of(function.get("name")))
            message.parts.append(call(*made, function.get("arguments")))
        chat.messages.append(message)
    return chat
