"""The messages of a request in the order that an endpoint's chat template demands. Pure.

Templates of Gemma, Mistral and others need user and assistant in turn, beginning with the user,
and a system message only at the beginning, or none. This is learned from their error messages.
"""

import re
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from smart_context.base.errors import ModelFailed
from smart_context.llm.models import PromptMessage


class SpeakingOrder(IntEnum):
    """The order of messages that an endpoint needs, from any to the strictest."""

    ANY = 0
    IN_TURN = 1  # user and assistant in turn, and one system message before them
    WITHOUT_SYSTEM = 2  # only user and assistant, in turn


_REFUSING = frozenset({200, 400, 422, 500})
_WANTS_TURNS = re.compile(
    r"roles? must alternate|alternating roles|optional system|unexpected role|message_order"
    r"|system messages? (?:must|should|can only) (?:be|come|appear) (?:only )?(?:at|first|the)"
    r"|(?:multiple|consecutive) .{0,20}(?:roles|messages) in a row|expected last role",
    re.IGNORECASE,
)
_TAKES_NO_SYSTEM = re.compile(
    r"system role (?:is )?not supported|only user and assistant roles are supported"
    r"|(?:does not|doesn't) support (?:a |the )?system (?:role|message|prompt)",
    re.IGNORECASE,
)


_SYSTEM = frozenset({"system", "developer"})
_OPENING: PromptMessage = {"role": "system"}
_OF_ONE_ITEM = frozenset({"id", "status"})
_OF_RESPONSES = ("input_", "output_")
"""The beginnings of the types of parts in the Responses API."""

_NO_ANSWER = "(There was no answer.)"
_BEGUN = "(You begin.)"


def order_wanted(failure: ModelFailed) -> SpeakingOrder:
    """The order that a failure demands; `ANY` if it is about something else."""
    words = str(failure)
    if failure.status not in _REFUSING:
        return SpeakingOrder.ANY
    if _WANTS_TURNS.search(words):
        return SpeakingOrder.IN_TURN
    is_without = _TAKES_NO_SYSTEM.search(words)
    return SpeakingOrder.WITHOUT_SYSTEM if is_without else SpeakingOrder.ANY


def in_order(messages: Sequence[PromptMessage], order: SpeakingOrder) -> tuple[PromptMessage, ...]:
    """The messages with consecutive ones of one role joined, and all roles in their place.

    Texts are separated by a blank line. A system message in the middle becomes the user's, and so
    does the first one if none is allowed. Calls of tools and their results are unchanged.
    """
    if order == SpeakingOrder.ANY:
        return tuple(messages)
    made: list[PromptMessage] = []
    for message in messages:
        is_first = not made or made[-1].get("role") in _SYSTEM
        is_in_place = is_first and order == SpeakingOrder.IN_TURN
        is_moved = message.get("role") in _SYSTEM and not is_in_place
        _add(made, {**message, "role": "user"} if is_moved else message)
    return tuple(made)


def _spoken_by(message: PromptMessage) -> str:
    """The speaker; items of the Responses API without a role are calls, thoughts and results."""
    role = message.get("role")
    if role is None:
        return "tool" if str(message.get("type")).endswith("_output") else "assistant"
    return "system" if role in _SYSTEM else str(role)


def _add(made: list[PromptMessage], message: PromptMessage) -> None:
    last = made[-1] if made else None
    before, role = (_spoken_by(m) for m in (last or _OPENING, message))
    if last and before == role != "tool" and not last.get("tool_calls"):
        if "role" in last and "role" in message:
            content = _joined(last.get("content"), message.get("content"))
            joined = {**last, **message, "content": content}
            made[-1] = {k: v for k, v in joined.items() if k not in _OF_ONE_ITEM}
        else:
            made.append(message)
        return
    if role == "assistant" and before == "system":
        made.append({"role": "user", "content": _BEGUN})
    elif role == "user" and before == "tool":
        made.append({"role": "assistant", "content": _NO_ANSWER})
    made.append(message)


def _joined(first: Any, second: Any) -> Any:
    """Two contents as one: texts, or lists of parts."""
    if not (first and second):
        return first or second
    texts = [text for content in (first, second) for text in _texts(content)]
    if all(isinstance(text, str) for text in texts):
        return "\n\n".join(texts)
    both = [*_parts(first), *_parts(second)]
    kinds = [str(part.get("type")) for part in both if isinstance(part, dict)]
    prefix = next((p for p in _OF_RESPONSES if any(kind.startswith(p) for kind in kinds)), "")
    return [*_parts(first, f"{prefix}text"), *_parts(second, f"{prefix}text")]


def _texts(content: Any) -> list[Any]:
    """The texts of a content; `None` for a part that is something else."""
    if isinstance(content, str):
        return [content]
    return [part.get("text") if isinstance(part, dict) else None for part in content]


def _parts(content: Any, kind: str = "text") -> list[Any]:
    return [{"type": kind, "text": content}] if isinstance(content, str) else [*content]
