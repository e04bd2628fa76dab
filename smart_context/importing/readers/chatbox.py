"""Sessions of Chatbox."""

from collections.abc import Iterator, Mapping
from typing import Any

from smart_context.importing.found import (
    FoundChat,
    FoundMessage,
    call,
    instructions_of,
    mapping,
    objects,
    text_in,
    text_of,
    text_part,
    thought,
    title_of,
)
from smart_context.importing.program import Form, Program


def chatbox(document: Mapping[str, Any]) -> Iterator[FoundChat]:
    """The sessions of Chatbox's export or of one file of its backup; each thread is a chat."""
    sessions = [value for key, value in document.items() if str(key).startswith("session:")]
    listed = document.get("chat-sessions")
    if "messages" in document:
        sessions.append(document)
    for session in objects([*sessions, *(listed if isinstance(listed, list) else ())]):
        name = text_of(session.get("id"))
        title = title_of(session.get("name"))
        for thread in objects(session.get("threads")):
            key = f"{name}/{thread.get('id')}" if name else ""
            label = title_of(thread.get("name")) or title
            yield _chatbox_thread(FoundChat(client="chatbox", id=key, title=label), thread, {})
        chat = FoundChat(client="chatbox", id=name, title=title)
        yield _chatbox_thread(chat, session, mapping(session.get("messageForksHash")))


def _chatbox_thread(
    chat: FoundChat, thread: Mapping[str, Any], forks: Mapping[str, Any]
) -> FoundChat:
    """The messages of a thread; `forks` has the other versions, by the message before them."""
    rows = objects(thread.get("messages"))
    chat.instructions = instructions_of(*map(_system_in, rows))
    for row in rows:
        _chatbox_message(chat, row)
    chat.current = chat.messages[-1].id if chat.messages else None
    for before, fork in forks.items():
        for version in objects(mapping(fork).get("lists")):
            for place, row in enumerate(objects(version.get("messages"))):
                found = _chatbox_message(chat, row)
                if not place and found:
                    found.parent = before
    return chat


def _system_in(row: Mapping[str, Any]) -> str:
    if row.get("role") != "system":
        return ""
    return text_in(row.get("contentParts")) or text_in(row.get("content"))


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


def _is_chatbox(document: Mapping[str, Any]) -> bool:
    is_one = any("contentParts" in row for row in objects(document.get("messages"))[:3])
    named = (str(key) for key in document)
    return is_one or "chat-sessions" in document or any(key.startswith("session:") for key in named)


CHATBOX = Program(
    name="chatbox",
    title="Chatbox",
    signs=(b'"chat-sessions',),
    export=Form(fits=_is_chatbox, read=chatbox),
)
