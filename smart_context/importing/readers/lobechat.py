"""Chats of LobeChat."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from smart_context.importing.found import (
    FoundChat,
    answered,
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


def lobechat(document: Mapping[str, Any]) -> Iterator[FoundChat]:
    """The chats of LobeChat's export: one for each topic, and one for the rest of each session."""
    data = _data_of(document)
    names = {text_of(one.get("id")): one for one in objects(data.get("topics"))}
    names |= {text_of(one.get("id")): one for one in objects(data.get("sessions"))}
    told = _told_by_session(data)
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
            instructions=told.get(text_of(known.get("sessionId")) or name, ""),
        )
        for row in sorted(said, key=lambda row: moment(row.get("createdAt"))):
            key = text_of(row.get("id"))
            _lobechat_message(row, chat, mapping(tools.get(key)) or row)
            chat.messages[-1].assets = [(name, files.get(name, "")) for name in attached[key]]
        yield chat


def _told_by_session(data: Mapping[str, Any]) -> Mapping[str, str]:
    """The system prompts of the agents, by the ids of their sessions."""
    told = {
        text_of(one.get("id")): instructions_of(mapping(one.get("config")).get("systemRole"))
        for one in objects(data.get("sessions"))
    }
    agents = {
        text_of(one.get("id")): instructions_of(one.get("systemRole"))
        for one in objects(data.get("agents"))
    }
    for pair in objects(data.get("agentsToSessions")):
        prompt = agents.get(text_of(pair.get("agentId")), "")
        told[text_of(pair.get("sessionId"))] = prompt
    return told


def _lobechat_message(row: Mapping[str, Any], chat: FoundChat, plugin: Mapping[str, Any]) -> None:
    at, model = row.get("createdAt"), row.get("model")
    message = chat.add(row.get("id"), row.get("role"), at=at, model=model)
    message.parent = text_of(row.get("parentId")) or chat.current
    if not row.get("threadId"):  # messages of a thread are a branch
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


def _data_of(document: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(document.get("data")) or mapping(document.get("state"))


LOBECHAT = Program(
    name="lobechat",
    title="LobeChat",
    export=Form(fits=lambda document: "messages" in _data_of(document), read=lobechat),
)
