"""Matches tool results to their tool calls.

A call is a part of type `tool_call`. Its result is in the same part, or in a later message with
the role `tool`. Only results in later messages can lose their call, so only those are tracked.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from smart_context.chat.messages import Message, Part

NO_CALLER = -1
"""The caller of a result whose call is missing."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64
_TOOL_CALL_TYPES = frozenset({"tool_call", "tool-call"})


@dataclass(frozen=True, slots=True)
class ToolPairs:
    """Results and their callers, by position in the list of messages."""

    # the position of a result's caller; `NO_CALLER` if no message made the call
    caller_of: Mapping[int, int]
    call_id_of: Mapping[int, str]  # the id of the call, for results that name one


def find_tool_pairs(messages: Sequence[Message]) -> ToolPairs:
    """The pairs of a chat; a result belongs to the newest earlier call with its id.

    A result without an id belongs to the assistant's message that directly precedes it or the
    results before it; without such a message it is not tracked.
    """
    caller_of: dict[int, int] = {}
    call_id_of: dict[int, str] = {}
    if not any([message.role == "tool" for message in messages]):  # noqa: C419  a list is faster
        return ToolPairs(caller_of, call_id_of)
    newest_caller: dict[str, int] = {}
    for position, message in enumerate(messages):
        if message.role != "tool":
            newest_caller.update((call_id, position) for call_id in _call_ids(message))
            continue
        call_id = _result_id(message)
        if call_id in newest_caller:
            caller_of[position] = newest_caller[call_id]
            call_id_of[position] = call_id
        elif "tool_call_id" in message.extra:
            caller_of[position] = NO_CALLER
        elif (speaker := _speaker_before(messages, position, caller_of)) is not None:
            caller_of[position] = speaker
    return ToolPairs(caller_of, call_id_of)


def has_tool_calls(message: Message) -> bool:
    """True if a message has a tool call, in any state."""
    return not isinstance(message.content, str) and any(map(_is_call, message.content))


def called_tools(message: Message) -> tuple[str, ...]:
    """The names of the tools that a message calls, each once, in order."""
    if isinstance(message.content, str):
        return ()
    names = (str(part.get("tool_name") or "") for part in message.content if _is_call(part))
    return tuple(dict.fromkeys(filter(None, names)))


def without_tool_calls(message: Message, call_ids: Collection[str] | None = None) -> Message:
    """The message without these tool calls, or without any; other parts keep their order."""
    return message.with_content(
        part
        for part in message.parts
        if not (_is_call(part) and (call_ids is None or part.get("tool_call_id") in call_ids))
    )


def as_function(part: Part) -> dict[str, str]:
    """The name and arguments of a call as OpenAI's API takes them.

    Changes names that the API refuses (`web.run`), and arguments of other programs that are not
    JSON.
    """
    args = part.get("args") or {}
    if isinstance(args, str) and not _is_json(args):
        args = {"input": args}
    text = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False, default=str)
    name = _NOT_IN_NAMES.sub("_", str(part.get("tool_name") or "unknown"))[:_LONGEST_NAME]
    return {"name": name, "arguments": text}


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_call(part: Part) -> bool:
    return part.get("type") in _TOOL_CALL_TYPES


def _call_ids(message: Message) -> Iterator[str]:
    if not isinstance(message.content, str):
        for part in message.content:
            if _is_call(part) and (call_id := part.get("tool_call_id")):
                yield str(call_id)


def _result_id(message: Message) -> str:
    return str(message.extra.get("tool_call_id") or next(_call_ids(message), ""))


def _speaker_before(
    messages: Sequence[Message], position: int, caller_of: Mapping[int, int]
) -> int | None:
    if position == 0:
        return None
    before = messages[position - 1].role
    if before == "tool":
        return caller_of.get(position - 1)
    return position - 1 if before == "assistant" else None
