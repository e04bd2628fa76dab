"""Builds the messages of a request, for turns, previews and receipts alike.

Messages have the keys of the OpenAI chat API and no others; reasoning and notices, which are for
the user, stay out.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from smart_context.base.values import CountTokens
from smart_context.chat.messages import Message, MessageId, Part
from smart_context.chat.tool_pairs import as_function
from smart_context.host.request.fenced_tools import in_plain_text
from smart_context.host.request.tokens import texts_of, texts_tokens
from smart_context.llm.models import PromptMessage

_NOTHING: Mapping[str, str] = MappingProxyType({})


def prompt_messages(
    system_prompt: str,
    history: Sequence[Message],
    message: str,
    *,
    files: Sequence[Mapping[str, Any]] = (),
    steps: Sequence[Part] = (),
    images: Mapping[str, str] = _NOTHING,
) -> tuple[PromptMessage, ...]:
    """The messages to send: system prompt, history, then the current message.

    Messages without text are left out, and so are tool calls without a result and results without
    a call, which endpoints refuse. A result is in the part of its call, or in a `tool` message
    right after.

    Args:
        system_prompt: The system prompt; left out if it is blank.
        history: The messages before the current one, oldest first.
        images: Attached images to show, as data URIs by storage key; others are only named.
        steps: The model's texts and tool calls in this turn so far.
    """
    prompt = [_plain("system", system_prompt)] if system_prompt.strip() else []
    if _are_bare(history):
        prompt += [{"role": message.role, "content": message.content} for message in history]
    else:
        prompt += [entry for _, built in _built(history, images) for entry in built]
    prompt.append(_plain("user", _with_images(message, files, images)))
    if steps:
        answer = Message(id=MessageId("answer"), role="assistant", content=tuple(steps))
        prompt.extend(_spoken(answer, ())[0])
    return tuple(prompt)


def without_silent(history: Sequence[Message]) -> tuple[Message, ...]:
    """The messages of a history that appear in a request.

    A stopped answer may have no text, and a tool's result no call.
    """
    if _are_bare(history):
        return tuple(history)
    return tuple(message for message, built in _built(history, _NOTHING) if built)


def texts_as_sent(message: Message, *, as_text: bool = False) -> tuple[str, ...]:
    """The texts that a request has of one message of its history, to count their tokens.

    Args:
        message: The message; its images are left out, and calls without a result count as
            answered by a later message.
        as_text: True if calls and results are sent in plain text.
    """
    if _is_plain(message):
        return (message.text,)
    if message.role == "tool":
        return tuple(_text(result) for _, result in _results_of(message))
    if shows_files(message):
        return (message.text,) if message.text.strip() else ()
    said, _ = _spoken(message, _unanswered(message))
    entries = in_plain_text(said) if as_text else said
    return tuple(text for entry in entries for text in texts_of(entry))


def tokens_as_sent(message: Message, count: CountTokens, *, as_text: bool = False) -> int:
    """The tokens of one message in a request; see `texts_as_sent`."""
    return texts_tokens(message.role, texts_as_sent(message, as_text=as_text), count)


def image_notice(file: Mapping[str, Any]) -> str:
    """The notice in place of an attached image that the model isn't shown."""
    name = " ".join(str(file.get("name", "")).split())
    return f"[An image is attached that can't be shown to you: {name}]"


def with_notices(
    text: str, files: Sequence[Mapping[str, Any]], images: Mapping[str, str] = _NOTHING
) -> str:
    """The text, with notices for images among the files that aren't shown; empty if blank."""
    hidden = (f for f in files if is_image(f) and f.get("storage_key") not in images)
    return "\n\n".join([*([text] if text.strip() else []), *map(image_notice, hidden)])


def is_image(file: Mapping[str, Any]) -> bool:
    """True if an attached file is an image."""
    return str(file.get("file_type")).startswith("image/")


def shows_files(message: Message) -> bool:
    """True if a request shows or names the images of a message, which has no calls or results."""
    is_spoken = message.role == "assistant" and not isinstance(message.content, str)
    return message.role != "tool" and not is_spoken


def _unanswered(message: Message) -> set[str]:
    """The calls in a message whose results are not in it."""
    calls = (part for part in message.parts if part.get("type") == "tool_call")
    return {str(part.get("tool_call_id")) for part in calls if "result" not in part}


def _is_plain(message: Message) -> bool:
    """True for a message that is its text, and has some."""
    content = message.content
    return message.role != "tool" and isinstance(content, str) and content.strip() != ""


def _are_bare(history: Sequence[Message]) -> bool:
    """True if all messages are plain and have no files, as in most chats; one fast pass."""
    return not [
        None
        for message in history
        if message.files
        or type(message.content) is not str
        or message.role == "tool"
        or message.content.isspace()
        or not message.content
    ]


def _built(
    history: Sequence[Message], images: Mapping[str, str]
) -> Iterator[tuple[Message, list[PromptMessage]]]:
    """Each message with its messages in a request."""
    awaited: set[str] = set()
    for at, entry in enumerate(history):
        if entry.role == "tool":
            yield entry, [*_results(entry, awaited)]
        elif not shows_files(entry):
            said, awaited = _spoken(entry, _ids_answered_after(history, at))
            yield entry, said
        elif shown := _with_images(entry.text, entry.files, images):
            yield entry, [_plain(entry.role, shown)]
            awaited = set()
        else:
            yield entry, []


def with_system(prompt: tuple[PromptMessage, ...], text: str) -> tuple[PromptMessage, ...]:
    """The messages with a text added to the leading system message, or as a new first one."""
    if not text.strip():
        return prompt
    if prompt and prompt[0]["role"] == "system" and isinstance(prompt[0]["content"], str):
        return _plain("system", f"{prompt[0]['content']}\n\n{text.strip()}"), *prompt[1:]
    return _plain("system", text.strip()), *prompt


def _plain(role: str, content: str | list[PromptMessage]) -> PromptMessage:
    return {"role": role, "content": content}


def _with_images(
    text: str, files: Sequence[Mapping[str, Any]], images: Mapping[str, str]
) -> str | list[PromptMessage]:
    """The text with the images among the files, shown or named; empty if there is neither."""
    attached = [file for file in files if is_image(file)]
    text = with_notices(text, attached, images)
    found = (images.get(str(file.get("storage_key"))) for file in attached)
    shown = [{"type": "image_url", "image_url": {"url": uri}} for uri in found if uri]
    if not shown:
        return text
    return [{"type": "text", "text": text}, *shown] if text else shown


def _spoken(
    message: Message, answered_later: Collection[str]
) -> tuple[list[PromptMessage], set[str]]:
    """An assistant's message, split after each run of calls; and its pending calls."""
    prompt: list[PromptMessage] = []
    texts: list[str] = []
    calls: dict[str, PromptMessage] = {}
    results: list[PromptMessage] = []
    late: dict[str, PromptMessage] = {}
    for part in message.parts:
        call_id = _text(part.get("tool_call_id")) if part.get("type") == "tool_call" else ""
        if part.get("type") == "text" and _text(part.get("text")).strip():
            if results:
                prompt.extend(_step(texts, calls.values(), results))
                texts, calls, results = [], {}, []
            texts.append(_text(part.get("text")))
        elif not call_id or call_id in calls or call_id in late:
            continue
        elif part.get("state") in {"result", "error"}:
            calls[call_id] = _call(call_id, part)
            results.append(_result(call_id, part.get("result")))
        elif call_id in answered_later:
            late[call_id] = _call(call_id, part)
    if results and late:
        prompt.extend(_step(texts, calls.values(), results))
        texts, calls, results = [], {}, []
    prompt.extend(_step(texts, [*calls.values(), *late.values()], results))
    return prompt, set(late)


def _step(
    texts: Sequence[str], calls: Collection[PromptMessage], results: Sequence[PromptMessage]
) -> list[PromptMessage]:
    text = "\n".join(texts)
    if calls:
        said = {"role": "assistant", "content": text or None, "tool_calls": list(calls)}
        return [said, *results]
    return [_plain("assistant", text)] if text else []


def _call(call_id: str, part: Part) -> PromptMessage:
    return {"id": call_id, "type": "function", "function": as_function(part)}


def _result(call_id: str, result: object) -> PromptMessage:
    return {"role": "tool", "tool_call_id": call_id, "content": _text(result)}


def _results(message: Message, awaited: set[str]) -> Iterator[PromptMessage]:
    """The results in a `tool` message for calls that were just made, each once."""
    for call_id, result in _results_of(message):
        if call_id in awaited:
            awaited.discard(call_id)
            yield _result(call_id, result)


def _results_of(message: Message) -> Iterator[tuple[str, Any]]:
    if named := message.extra.get("tool_call_id"):
        yield str(named), _tool_text(message)
        return
    for part in message.parts:
        if part.get("type") == "tool_call" and (call_id := part.get("tool_call_id")):
            yield str(call_id), part.get("result")


def _tool_text(message: Message) -> Any:
    if message.text:
        return message.text
    return next((p.get("result") for p in message.parts if p.get("type") == "tool_call"), "")


def _ids_answered_after(history: Sequence[Message], at: int) -> set[str]:
    """The calls answered by the `tool` messages right after a message."""
    answered: set[str] = set()
    for following in range(at + 1, len(history)):
        if history[following].role != "tool":
            break
        answered.update(call_id for call_id, _ in _results_of(history[following]))
    return answered


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)
