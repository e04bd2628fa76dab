"""Chats of Open WebUI."""

import html
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from smart_context.base.values import JsonObject
from smart_context.importing.found import (
    FoundChat,
    FoundMessage,
    NotReadable,
    answered,
    call,
    instructions_of,
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
from smart_context.importing.program import Form, Program

_OPENING = re.compile(r'<details type="(reasoning|tool_calls|code_interpreter)"[^<>]*>')
_ATTRIBUTE = re.compile(r'(?<![a-z])([a-z]+)="([^"]*)"')
_CLOSING, _END_OF_SUMMARY = "</details>", "</summary>"
_QUOTED = re.compile(r"^> ?", re.MULTILINE)


def open_webui(entry: Mapping[str, Any]) -> FoundChat:
    """A chat of Open WebUI's export.

    Raises:
        NotReadable: If it has no history of messages.
    """
    chat = mapping(entry.get("chat")) or entry
    history = mapping(chat.get("history"))
    flat = objects(chat.get("messages"))  # in old versions; outdated if there is a history
    nodes = mapping(history.get("messages")) or {str(n): row for n, row in enumerate(flat)}
    if not nodes:
        raise NotReadable("expected chat.history.messages, found none")
    found = FoundChat(
        client="open-webui",
        id=text_of(entry.get("id")) or text_of(chat.get("id")),
        title=title_of(entry.get("title") or chat.get("title")),
        created_at=moment(entry.get("created_at") or chat.get("timestamp")),
        current=text_of(history.get("currentId")) or None,
    )
    systems = [mapping(chat.get("params")).get("system"), chat.get("system")]
    for key, node in nodes.items():
        if isinstance(node, Mapping):
            at, model = node.get("timestamp"), node.get("model")
            message = found.add(key, node.get("role"), at=at, model=model)
            if history:
                message.parent = text_of(node.get("parentId")) or None
            if node.get("role") != "system":
                _webui_parts(node, message)
            else:
                systems.append(node.get("content"))
    found.instructions = instructions_of(*systems)
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
    """The parts of a text: its own text, and the thoughts and calls in `<details>`."""
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
    """The value in a JSON text, which may be quoted as JSON several times."""
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


def _is_open_webui(item: Mapping[str, Any]) -> bool:
    chat, history = mapping(item.get("chat")), mapping(item.get("history"))
    return "history" in chat or "messages" in chat or "messages" in history


OPEN_WEBUI = Program(
    name="open-webui",
    title="Open WebUI",
    signs=(b'"currentId"',),
    conversation=Form(fits=_is_open_webui, read=open_webui),
)
