"""Lists of messages, in the format of OpenAI's API or in other simple formats.

A message has a speaker and a content. Their fields may be named as in the APIs of OpenAI,
Anthropic and Google, the AI SDK (`parts`), ShareGPT (`from`, `value`) and LangChain (`type`,
`data`), or as in big-AGI, TypingMind and most scripts.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, cast

from smart_context.chat.messages import Role
from smart_context.importing.found import (
    MOST_BEFORE,
    FoundChat,
    FoundMessage,
    NotKnown,
    NotReadable,
    add_blocks,
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
from smart_context.importing.program import Form, Program, Session

_LIST_KEYS = ("messages", "conversations", "conversation", "contents", "history", "chat")
_ROLE_KEYS = ("role", "author", "sender", "from", "speaker", "type")
_CONTENT_KEYS = ("content", "parts", "fragments", "text", "value", "message", "data")
_TITLE_KEYS = ("title", "name", "chatTitle", "userTitle", "autoTitle", "subject")
_ID_KEYS = ("id", "uuid", "chatID", "conversation_id", "conversationId")
_TIME_KEYS = ("created_at", "createdAt", "create_time", "created", "timestamp", "date")
_MODEL_KEYS = ("model", "modelId", "originLLM")
_SYSTEM_KEYS = ("system", "systemPrompt", "system_prompt")

_SPEAKERS: Mapping[str, str] = {
    **dict.fromkeys(("user", "human", "you", "prompter"), "user"),
    **dict.fromkeys(("assistant", "ai", "gpt", "bot", "model", "chatgpt", "chatbot"), "assistant"),
    **dict.fromkeys(("claude", "gemini", "bard", "bing", "copilot", "llm"), "assistant"),
    "system": "system",
    "function_call": "assistant",
    **dict.fromkeys(("tool", "function", "observation", "developer", "data"), "tool"),
}
"""The role of each known name for a speaker; text of neither a model nor a person is a tool's.

Other names are errors: text of a model must never become the user's.
"""

_SHAREGPT_CALL = "call"
_SAYS_NOTHING = ("step-start", "data-")
"""The beginnings of types of parts that only the AI SDK's page needs."""
_LOGGED = {"sessionId", "messageId", "type", "message", "timestamp"}
"""The keys of an entry in Gemini CLI's `logs.json`, a list of the questions of all sessions."""
_BLOCKS = frozenset(("thinking", "tool_use", "tool_result"))


def openai_messages(document: Mapping[str, Any]) -> FoundChat:
    """The chat of an object with a list of messages.

    Without an id, a chat is identified by a hash of its beginning up to the first answer, and a
    message by a hash of all up to it, so neither the file's name nor the line matters.

    Raises:
        NotKnown: If no message has a known speaker.
        NotReadable: If there is no list of messages, or one message has no known speaker.
    """
    listed = _listed(document)
    if listed is None:
        raise NotReadable("expected a list of messages, found none")
    chat = FoundChat(
        client="openai",
        id="",
        title=title_of(_first(document, _TITLE_KEYS)),
        created_at=moment(_first(document, _TIME_KEYS)),
        instructions=text_in(_first(document, _SYSTEM_KEYS)),
    )
    if listed and not any(_speaker(row) in _SPEAKERS for row in objects(listed)):
        raise NotKnown("none of its messages says whether a user or an assistant speaks")
    digest = hashlib.sha256()
    for number, row in enumerate(objects(listed)):
        said = _content(row)
        told = [row.get("role") or _speaker(row), said, row.get("tool_calls")]
        digest.update(json.dumps(told, sort_keys=True).encode())
        role = _role(row, number)
        chat.id = chat.id or (digest.hexdigest() if role == "assistant" else "")
        if role == "tool":
            name = text_of(row.get("tool_call_id")) or text_of(row.get("name")) or _SHAREGPT_CALL
            if not answered(chat.messages, name, said):
                _add_results(said, chat)
            continue
        at, model = _first(row, _TIME_KEYS), _first(row, _MODEL_KEYS)
        model = text_of(model) or mapping(row.get("generator")).get("name")
        message = chat.add(digest.hexdigest(), role, at=at, model=model)
        message.role = cast("Role", role)
        _add_content(row, said, message, chat)
    named = _first(document, _ID_KEYS)
    chat.id = str(named if isinstance(named, str | int) else chat.id or digest.hexdigest())
    return chat


def _listed(document: Mapping[str, Any]) -> list[Any] | None:
    """The list of messages; `None` if there is none."""
    for key in _LIST_KEYS:
        found = document.get(key)
        if isinstance(found, list) and (key == "messages" or _are_messages(found)):
            return found
    return None


def _are_messages(rows: object) -> bool:
    """True for a list whose first entry is a message, not a chat."""
    first = rows[0] if isinstance(rows, list) and rows else None
    return isinstance(first, Mapping) and is_message(first)


def is_chat(document: Mapping[str, Any]) -> bool:
    """True for an object with a list of messages."""
    return _listed(document) is not None


def is_message(row: Mapping[str, Any]) -> bool:
    """True for an object with a speaker and a content."""
    is_said = any(key in row for key in (*_CONTENT_KEYS, "tool_calls"))
    if row.keys() == _LOGGED:
        return False
    return is_said and not is_chat(row) and ("role" in row or _speaker(row) in _SPEAKERS)


def _speaker(row: Mapping[str, Any]) -> str:
    """The name of a message's speaker in lower case; empty if there is none."""
    for key in _ROLE_KEYS:
        value = row.get(key)
        inner = mapping(value)
        name = text_of(value) or text_of(inner.get("role")) or text_of(inner.get("name"))
        if name and (key != "type" or name.lower() in _SPEAKERS):
            return name.lower()
    return ""


def _role(row: Mapping[str, Any], number: int) -> str:
    speaker = _speaker(row)
    if speaker not in _SPEAKERS:
        found = f"{speaker[:40]!r}" if speaker else "none"
        raise NotReadable(f"message {number}: expected a role, user or assistant, found {found}")
    return _SPEAKERS[speaker]


def _content(row: Mapping[str, Any]) -> Any:
    """The content of a message: a text or a list of parts."""
    said = next((row[key] for key in _CONTENT_KEYS if row.get(key)), row.get("content"))
    inner = mapping(said)
    return next((inner[key] for key in ("parts", *_CONTENT_KEYS) if inner.get(key)), said)


def _add_content(row: Mapping[str, Any], said: Any, message: FoundMessage, chat: FoundChat) -> None:
    if words := text_of(row.get("reasoning_content")) or text_of(row.get("reasoning")):
        message.parts.append(thought(words))
    if _speaker(row) == "function_call":  # ShareGPT's calls have no ids
        made = mapping(parsed(said))
        name = text_of(made.get("name")) or "tool"
        message.parts.append(call(_SHAREGPT_CALL, name, made.get("arguments")))
        return
    for part in said if isinstance(said, list) else [said]:
        if isinstance(part, str) and part:
            message.parts.append(text_part(part))
        elif isinstance(part, Mapping):
            _add_part(part, message, chat)
    if refusal := text_of(row.get("refusal")):
        message.parts.append(text_part(refusal))
    _add_calls(row, message)


def _add_calls(row: Mapping[str, Any], message: FoundMessage) -> None:
    for tool in (*objects(row.get("tool_calls")), {"function": row.get("function_call")}):
        function = mapping(tool.get("function"))
        if name := text_of(function.get("name")):
            args = function.get("arguments")
            message.parts.append(call(text_of(tool.get("id")) or name, name, args))


def _add_part(part: Mapping[str, Any], message: FoundMessage, chat: FoundChat) -> None:
    """Add a part of the APIs of OpenAI, Anthropic or Google, of the AI SDK, big-AGI, or ours."""
    part = mapping(part.get("part")) or part  # big-AGI nests it in a fragment
    kind = text_of(part.get("type")) or text_of(part.get("pt"))
    text = text_of(part.get("text")) or text_of(part.get("refusal"))
    if kind in _BLOCKS or (kind in {"image", "document"} and "source" in part):
        add_blocks([part], message, chat.messages[-MOST_BEFORE:-1])
    elif kind in {"tool-invocation", "dynamic-tool"} or kind.startswith("tool-"):
        _add_tool(kind, mapping(part.get("toolInvocation")) or part, message, chat)
    elif kind == "reasoning":
        message.parts.append(thought(text or text_of(part.get("reasoning"))))
    elif shown := _address(part):
        _add_file(part, shown, message)
    elif text and kind != "info":
        message.parts.append(text_part(text))
    elif kind and not kind.startswith(_SAYS_NOTHING):
        message.parts.append(dict(part))


def _address(part: Mapping[str, Any]) -> str:
    """The address of a part's file or picture, or a `data:` address of its content; else empty."""
    shown, file = part.get("image_url"), mapping(part.get("file"))
    inline = mapping(part.get("inlineData") or part.get("inline_data"))
    media = part.get("mediaType") or part.get("mimeType") or inline.get("mimeType")
    content = text_of(part.get("data")) or text_of(part.get("image")) or text_of(inline.get("data"))
    if content and not content.startswith(("data:", "http")):
        return f"data:{media or 'image/png'};base64,{content}"
    told = (shown, mapping(shown).get("url"), file.get("file_data"), content, part.get("url"))
    return next(filter(None, map(text_of, told)), "")


def _add_file(part: Mapping[str, Any], address: str, message: FoundMessage) -> None:
    file = mapping(part.get("file"))
    name = text_of(file.get("filename")) or text_of(part.get("filename"))
    if address.startswith("data:"):
        message.assets.append((address, name or "Picture"))
    else:
        title = name or text_of(part.get("title"))
        message.parts.append(text_part(f"{title}: {address}" if title else address))


def _add_tool(kind: str, tool: Mapping[str, Any], message: FoundMessage, chat: FoundChat) -> None:
    """Add a call of the AI SDK with its result if there is one, or a result to its call."""
    key, told = text_of(tool.get("toolCallId")), "output" if "output" in tool else "result"
    result = tool.get(told, tool.get("errorText"))
    if kind == "tool-result":
        answered(chat.messages, key, mapping(result).get("value", result))
        return
    name = text_of(tool.get("toolName")) or kind.removeprefix("tool-")
    args = tool.get("input", tool.get("args"))
    made = key or f"{message.id}-{len(message.parts)}"
    message.parts.append(call(made, name, args, result, is_done=result is not None))


def _add_results(said: Any, chat: FoundChat) -> None:
    """Add the results in a message of the AI SDK to their calls."""
    for part in objects(said):
        if part.get("type") == "tool-result" and chat.messages:
            _add_tool("tool-result", part, chat.messages[-1], chat)


def _first(value: Mapping[str, Any], keys: tuple[str, ...]) -> object:
    return next((value[key] for key in keys if value.get(key)), None)


def _is_list(session: Session) -> bool:
    return any(is_message(row) for row in session.first)


OPENAI = Program(
    name="openai",
    title="messages as OpenAI's API takes them",
    signs=(b'"messages"',),
    conversation=Form(fits=is_chat, read=openai_messages),
    session=Form(
        fits=_is_list, read=lambda session: openai_messages({"messages": [*session.rows]})
    ),
)
