"""Sessions of Continue."""

from collections.abc import Mapping
from typing import Any

from smart_context.importing.found import (
    FoundChat,
    FoundMessage,
    answered,
    call,
    instructions_of,
    mapping,
    moment,
    objects,
    text_in,
    text_of,
    text_part,
    thought,
    title_of,
)
from smart_context.importing.program import Form, Program

_UNTITLED = {"New Session", "Untitled Session"}
_CALLED = {"done", "errored", "canceled"}


def continue_dev(session: Mapping[str, Any]) -> FoundChat:
    """A session of Continue; each entry is a message with its attached texts and calls."""
    title = title_of(session.get("title"))
    chat = FoundChat(
        client="continue",
        id=text_of(session.get("sessionId")),
        title="" if title in _UNTITLED else title,
        created_at=moment(session.get("dateCreated")),
    )
    systems: list[str] = []
    for entry in objects(session.get("history")):
        message = mapping(entry.get("message"))
        role, content = text_of(message.get("role")), message.get("content")
        if role == "system":
            systems.append(text_in(content))
        elif role == "tool":
            answered(chat.messages, text_of(message.get("toolCallId")), text_in(content))
        else:
            logs = objects(entry.get("promptLogs"))
            model = mapping(logs[-1] if logs else {}).get("modelTitle")
            model = model or session.get("chatModelTitle")
            found = chat.add("", role, model=model)
            _add_entry(entry, message, found)
        if summary := text_of(entry.get("conversationSummary")):
            chat.add("", "assistant", summary).is_summary = True
    chat.instructions = instructions_of(*systems)
    return chat


def _add_entry(entry: Mapping[str, Any], message: Mapping[str, Any], found: FoundMessage) -> None:
    content = message.get("content")
    words = text_of(mapping(entry.get("reasoning")).get("text"))
    if message.get("role") == "thinking":
        words, content = text_in(content), ""
    if words:
        found.parts.append(thought(words))
    if text := text_in(content):
        found.parts.append(text_part(text))
    for block in objects(content):
        if address := text_of(mapping(block.get("imageUrl")).get("url")):
            found.assets.append((address, "Picture"))
    for item in objects(entry.get("contextItems")):
        if text := text_of(item.get("content")):
            name = text_of(item.get("name")) or text_of(item.get("description"))
            found.parts.append(text_part(f"{name or 'Attached text'}:\n\n{text}"))
    _add_calls(entry, message, found)


def _add_calls(entry: Mapping[str, Any], message: Mapping[str, Any], found: FoundMessage) -> None:
    """Add the calls and their results, or else the calls that the model requested."""
    states = objects(entry.get("toolCallStates")) or objects([entry.get("toolCallState")])
    for state in states or ({"toolCall": asked} for asked in objects(message.get("toolCalls"))):
        asked = mapping(state.get("toolCall"))
        function = mapping(asked.get("function"))
        name = text_of(state.get("toolCallId")) or text_of(asked.get("id"))
        args = state.get("parsedArgs") or function.get("arguments")
        outputs = (text_of(item.get("content")) for item in objects(state.get("output")))
        is_done = text_of(state.get("status")) in _CALLED
        made = (name, text_of(function.get("name")), args)
        result = "\n".join(filter(None, outputs))
        found.parts.append(call(*made, result, is_done=True) if is_done else call(*made))


CONTINUE = Program(
    name="continue",
    title="Continue",
    signs=(b'"workspaceDirectory"',),
    conversation=Form(
        fits=lambda item: "sessionId" in item and isinstance(item.get("history"), list),
        read=continue_dev,
    ),
)
