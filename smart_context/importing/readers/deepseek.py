"""The export of DeepSeek: a tree like ChatGPT's, with fragments as the parts of messages."""

from collections.abc import Mapping
from typing import Any

from smart_context.base.values import JsonObject
from smart_context.importing.found import (
    FoundChat,
    FoundMessage,
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

_ASKED, _THOUGHT, _SAID = "REQUEST", "THINK", {"RESPONSE", "REQUEST"}


def deepseek(conversation: Mapping[str, Any]) -> FoundChat:
    """A conversation of DeepSeek's export.

    Without fragments, as in early exports, questions and answers alternate.
    """
    chat = FoundChat(
        client="deepseek",
        id=text_of(conversation.get("id")),
        title=title_of(conversation.get("title")),
        created_at=moment(conversation.get("inserted_at")),
    )
    asked: set[str] = set()  # the ids of questions
    for key, node in mapping(conversation.get("mapping")).items():
        told, parent = mapping(mapping(node).get("message")), text_of(mapping(node).get("parent"))
        fragments = objects(told.get("fragments"))
        is_asked = any(one.get("type") == _ASKED for one in fragments)
        if told and not fragments:
            is_asked = parent not in asked
        if is_asked:
            asked.add(key)
        role = "user" if is_asked else "assistant"
        found = chat.add(key, role, at=told.get("inserted_at"), model=told.get("model"))
        found.parent = parent or None
        _add(told, fragments, found)
    return chat


def _add(told: Mapping[str, Any], fragments: list[Mapping[str, Any]], found: FoundMessage) -> None:
    found.parts.extend(part for part in map(_part, fragments) if part)
    if not fragments and (words := text_of(told.get("reasoning_content"))):
        found.parts.append(thought(words))
    if not fragments and (text := text_of(told.get("content"))):
        found.parts.append(text_part(text))
    for file in objects(told.get("files")):
        name = text_of(file.get("file_name")) or text_of(file.get("name"))
        if text := text_of(file.get("content")):
            found.parts.append(text_part(f"{name or 'Attached text'}:\n\n{text}"))
        elif name:
            found.assets.append((text_of(file.get("id")) or name, name))


def _part(fragment: Mapping[str, Any]) -> JsonObject | None:
    """A fragment as a part; searches and other tools become calls with results."""
    kind, text = text_of(fragment.get("type")), text_of(fragment.get("content"))
    if kind == _THOUGHT:
        return thought(text)
    if kind in _SAID:
        return text_part(text)
    result = fragment.get("results") or fragment.get("result") or text
    asked = fragment.get("queries") or fragment.get("query") or {}
    name = f"{fragment.get('id', '')}-{kind}"
    return call(name, kind.lower(), asked, result, is_done=True) if kind and result else None


def _is_deepseek(item: Mapping[str, Any]) -> bool:
    nodes = mapping(item.get("mapping"))
    said = (mapping(mapping(node).get("message")) for node in nodes.values())
    return bool(nodes) and ("inserted_at" in item or any("fragments" in one for one in said))


DEEPSEEK = Program(
    name="deepseek",
    title="DeepSeek",
    signs=(b'"fragments"',),
    conversation=Form(fits=_is_deepseek, read=deepseek),
)
