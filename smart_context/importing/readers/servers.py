"""Chats of programs for many models: Open WebUI, LibreChat, LobeChat, SillyTavern, Chatbox."""

import hashlib
import html
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from smart_context.base.values import JsonObject
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
    parsed,
    text_in,
    text_of,
    text_part,
    thought,
    title_of,
)

_OPENING = re.compile(r'<details type="(reasoning|tool_calls|code_interpreter)"[^<>]*>')
_ATTRIBUTE = re.compile(r'(?<![a-z])([a-z]+)="([^"]*)"')
_CLOSING, _END_OF_SUMMARY = "</details>", "</summary>"
_QUOTED = re.compile(r"^> ?", re.MULTILINE)
_MOST_DEEP = 10_000
_NO_NAMES = {"", "unused"}
"""What SillyTavern writes in place of names that it has elsewhere."""


def open_webui(entry: Mapping[str, Any]) -> FoundChat:
    """A chat of Open WebUI's export.

    Raises:
        NotReadable: If it has no history of messages.
    """
    chat = mapping(entry.get("chat")) or entry
    history = mapping(chat.get("history"))
    flat = objects(chat.get("messages"))  # of old versions; stale where there is a history
    nodes = mapping(history.get("messages")) or {str(n): row for n, row in enumerate(flat)}
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
        if isinstance(node, Mapping):
            at, model = node.get("timestamp"), node.get("model")
            message = found.add(key, node.get("role"), at=at, model=model)
            if history:
                message.parent = text_of(node.get("parentId")) or None
            if node.get("role") != "system":
                _webui_parts(node, message)
    return found


def _webui_parts(node: Mapping[str, Any], message: FoundMessage) -> None:
    for item in objects(node.get("output")):
        _webui_output(item, message)
    known = bool(message.parts)
    for part in _without_details(text_of(node.get("content"))):
        if not known or part["type"] == "text":
            message.parts.append(part)
    for file in objects(node.get("files")):
        inner = mapping(file.get("file"))
        name = text_of(file.get("name")) or text_of(inner.get("filename"))
        if content := text_of(mapping(inner.get("data")).get("content")):
            message.parts.append(text_part(f"{name or 'Attached text'}:\n\n{content}"))
        elif (address := text_of(file.get("url"))).startswith("data:"):
            message.assets.append((address, name))


def _without_details(text: str) -> Iterator[JsonObject]:
    """The parts of a text: what it says, and the thoughts and calls that it has as `<details>`."""
    at = 0
    while opening := _OPENING.search(text, at):
        end = text.find(_CLOSING, opening.end())
        if end < 0:
            break
        yield from _told(text[at : opening.start()])
        head, _, told = text[opening.end() : end].rpartition(_END_OF_SUMMARY)
        inside = html.unescape(_QUOTED.sub("", told or head)).strip()
        about = {name: html.unescape(value) for name, value in _ATTRIBUTE.findall(opening[0])}
        if opening[1] == "reasoning":
            yield thought(inside)
        else:
            if opening[1] == "code_interpreter":
                args, result = inside, about.get("output", "")
            else:
                args, result = about.get("arguments", ""), about.get("result") or inside
            key, name = about.get("id") or f"{opening[1]}-{at}", about.get("name") or opening[1]
            is_done = about.get("done") != "false"
            yield call(key, name, _unquoted(args), _unquoted(result), is_done=is_done)
        at = end + len(_CLOSING)
    yield from _told(text[at:])


def _unquoted(text: str) -> object:
    """The value that a text of JSON holds, which may be a text of JSON itself."""
    value: object = text
    while isinstance(value, str) and value.startswith('"') and value != (inner := _json(value)):
        value = inner
    return parsed(value)


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _told(text: str) -> list[JsonObject]:
    return [text_part(text.strip())] if text.strip() else []


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
        answered([message], text_of(item.get("call_id")), text_in(item.get("output")))


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
        role = "user" if node.get("isCreatedByUser") is True else "assistant"
        at, model = node.get("createdAt"), node.get("model")
        message = chat.add(node.get("messageId"), role, at=at, model=model)
        if parent or "parentMessageId" in node:  # else it follows the one before
            message.parent = parent
        key = message.id
        for block in objects(node.get("content")):
            _librechat_block(block, message)
        if not message.parts and (text := text_of(node.get("text"))):
            message.parts.append(text_part(text))
        for file in objects(node.get("files")):
            name = text_of(file.get("filename"))
            message.assets.append((text_of(file.get("file_id")) or name, name))
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
    files = {text_of(one.get("id")): text_of(one.get("name")) for one in objects(data.get("files"))}
    attached: dict[str, list[str]] = defaultdict(list)
    for one in objects(data.get("messagesFiles")):
        attached[text_of(one.get("messageId"))].append(text_of(one.get("fileId")))
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
            key = text_of(row.get("id"))
            _lobechat_message(row, chat, mapping(tools.get(key)) or row)
            chat.messages[-1].assets = [(name, files.get(name, "")) for name in attached[key]]
        yield chat


def _lobechat_message(row: Mapping[str, Any], chat: FoundChat, plugin: Mapping[str, Any]) -> None:
    at, model = row.get("createdAt"), row.get("model")
    message = chat.add(row.get("id"), row.get("role"), at=at, model=model)
    message.parent = text_of(row.get("parentId")) or chat.current
    if not row.get("threadId"):  # a thread is a branch
        chat.current = message.id
    if row.get("role") == "tool":
        name = text_of(plugin.get("tool_call_id") or plugin.get("toolCallId"))
        answered(chat.messages, name, row.get("content"))
    if text_of(row.get("role")) in {"tool", "system"}:
        return
    if words := text_of(mapping(row.get("reasoning")).get("content")):
        message.parts.append(thought(words))
    if text := text_of(row.get("content")):
        message.parts.append(text_part(text))
    for tool in objects(row.get("tools")):
        label = text_of(tool.get("apiName")) or text_of(tool.get("identifier"))
        message.parts.append(call(text_of(tool.get("id")), label, tool.get("arguments")))


def sillytavern(rows: Sequence[Mapping[str, Any]], name: str) -> FoundChat:
    """A chat of SillyTavern: its first line is about the chat; other swipes are branches."""
    about = rows[0] if rows and "mes" not in rows[0] else {}
    metadata = mapping(about.get("chat_metadata"))
    told = [row for row in rows if "mes" in row]
    spoke = dict.fromkeys(text_of(row.get("name")) for row in told if _speaks(row))
    named = [text_of(about.get("character_name")), ", ".join(filter(None, spoke)), name]
    chat = FoundChat(
        client="sillytavern",
        id=text_of(metadata.get("integrity")) or _sillytavern_key(about, told),
        title=title_of(next(found for found in named if found not in _NO_NAMES)),
        created_at=moment(about.get("create_date")) or moment(told and told[0].get("send_date")),
    )
    if metadata.get("main_chat"):  # a branch has the id of the chat that it left
        chat.id += f" {name}"
    before: str | None = None
    for number, row in enumerate(rows):
        for used in objects(mapping(row.get("extra")).get("tool_invocations")):
            made = (text_of(used.get("id")), text_of(used.get("name")), used.get("parameters"))
            found = chat.add(f"{number}-{len(chat.messages)}", "", at=row.get("send_date"))
            found.parts.append(call(*made, used.get("result"), is_done=True))
            found.parent, before, chat.current = before, found.id, found.id
        if "mes" not in row or row.get("is_system") is True:
            continue
        swipes, infos = row.get("swipes"), objects(row.get("swipe_info"))
        texts = [
            text_of(swipe) or text_of(mapping(swipe).get("mes"))
            for swipe in (swipes if isinstance(swipes, list) and swipes else [""])
        ]
        wanted = row.get("swipe_id")
        shown = wanted if isinstance(wanted, int) and 0 <= wanted < len(texts) else 0
        for place, text in enumerate(texts):
            about = row if place == shown else infos[place] if place < len(infos) else {}
            said = text_of(row.get("mes")) if place == shown else text
            if len(spoke) > 1 and _speaks(row):
                said = f"**{row['name']}:** {said}"
            _sillytavern_swipe(chat.add(f"{number}-{place}", _speaker(row)), about, said, before)
        before = chat.current = f"{number}-{shown}"
    return chat


def _speaks(row: Mapping[str, Any]) -> bool:
    """True for what a character says, who may be one of several."""
    return not (row.get("is_user") or row.get("is_system")) and bool(text_of(row.get("name")))


def _sillytavern_key(about: Mapping[str, Any], told: Sequence[Mapping[str, Any]]) -> str:
    """What tells a chat of a version without ids: its character and when it began."""
    began = [text_of(about.get("character_name")), text_of(about.get("create_date"))]
    if all(began) and _NO_NAMES.isdisjoint(began):
        return " ".join(began)
    asked = next((place for place, row in enumerate(told) if row.get("is_user") is True), 0)
    begun = [(row.get("name"), row.get("send_date"), row.get("mes")) for row in told[: asked + 1]]
    return hashlib.sha256(json.dumps([*began, *begun]).encode()).hexdigest()


def _speaker(row: Mapping[str, Any]) -> str:
    return "user" if row.get("is_user") is True else "assistant"


def _sillytavern_swipe(
    found: FoundMessage, about: Mapping[str, Any], said: str, before: str | None
) -> None:
    extra = mapping(about.get("extra"))
    found.parent = before
    found.created_at = moment(about.get("send_date"))
    found.model = "" if found.role == "user" else text_of(extra.get("model"))
    if words := text_of(extra.get("reasoning")):
        found.parts.append(thought(words))
    found.parts.append(text_part(said))
    shown = (extra.get("image"), mapping(extra.get("file")).get("url"))
    for address in (*shown, *(media.get("url") for media in objects(extra.get("media")))):
        if name := text_of(address).rpartition("/")[2]:
            found.assets.append((name, ""))


def chatbox(document: Mapping[str, Any]) -> Iterator[FoundChat]:
    """The sessions of Chatbox's export or of one file of its backup; each thread is a chat."""
    sessions = [value for key, value in document.items() if str(key).startswith("session:")]
    listed = document.get("chat-sessions")
    if "messages" in document:
        sessions.append(document)
    for session in objects([*sessions, *(listed if isinstance(listed, list) else ())]):
        name = text_of(session.get("id")) or str(session.get("name"))
        title = title_of(session.get("name"))
        for thread in objects(session.get("threads")):
            key, label = f"{name}/{thread.get('id')}", title_of(thread.get("name")) or title
            yield _chatbox_thread(FoundChat(client="chatbox", id=key, title=label), thread, {})
        chat = FoundChat(client="chatbox", id=name, title=title)
        yield _chatbox_thread(chat, session, mapping(session.get("messageForksHash")))


def _chatbox_thread(
    chat: FoundChat, thread: Mapping[str, Any], forks: Mapping[str, Any]
) -> FoundChat:
    """The messages of a thread; `forks` has the other versions, by what they follow."""
    for row in objects(thread.get("messages")):
        _chatbox_message(chat, row)
    chat.current = chat.messages[-1].id if chat.messages else None
    for before, fork in forks.items():
        for version in objects(mapping(fork).get("lists")):
            for place, row in enumerate(objects(version.get("messages"))):
                found = _chatbox_message(chat, row)
                if not place and found:
                    found.parent = before
    return chat


def _chatbox_message(chat: FoundChat, row: Mapping[str, Any]) -> FoundMessage | None:
    if row.get("role") == "system":
        return None
    found = chat.add(
        row.get("id"), row.get("role"), at=row.get("timestamp"), model=row.get("model")
    )
    found.is_summary = row.get("isSummary") is True
    if words := text_of(row.get("reasoningContent")):
        found.parts.append(thought(words))
    for part in objects(row.get("contentParts")):
        _chatbox_part(part, found)
    if not found.parts and (text := text_of(row.get("content"))):
        found.parts.append(text_part(text))
    for file in (*objects(row.get("pictures")), *objects(row.get("files"))):
        if name := text_of(file.get("rawStorageKey")) or text_of(file.get("storageKey")):
            found.assets.append((name, text_of(file.get("name"))))
    return found


def _chatbox_part(part: Mapping[str, Any], message: FoundMessage) -> None:
    text = text_of(part.get("text"))
    if part.get("type") == "reasoning":
        message.parts.append(thought(text))
    elif part.get("type") == "tool-call":
        made = (text_of(part.get("toolCallId")), text_of(part.get("toolName")), part.get("args"))
        result = part.get("result")
        message.parts.append(call(*made, result, is_done=result is not None))
    elif part.get("type") == "image":
        message.assets.append((text_of(part.get("storageKey")), "Picture"))
    elif text:
        message.parts.append(text_part(text))


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
