"""Shortens a client's request to the window of its model, by the rules of all requests."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from smart_context.base.errors import RequestTooLong
from smart_context.base.values import CountTokens
from smart_context.chat.messages import Message
from smart_context.gateway.requests.outgoing import Outgoing, last_question
from smart_context.gateway.requests.units import ListUnit
from smart_context.host.request.request import Request, added_by_client
from smart_context.host.request.shortening import fitted
from smart_context.host.request.tokens import prompt_tokens, texts_of
from smart_context.host.request.window import Window
from smart_context.host.turn import Turn
from smart_context.llm.estimating import utf8_bytes
from smart_context.llm.models import PromptMessage
from smart_context.llm.tokens import counting

_TRIES = 8
"""Maximum attempts to shorten a request, since calls bring back their results, which take room."""

_TEXTS = frozenset({"text", "input_text", "output_text"})
_ITEMS = frozenset({"message", "function_call", "function_call_output"})


@dataclass(frozen=True, slots=True)
class ChosenUnits:
    """The chosen part of a client's list."""

    turn: Turn  # its request has the chosen messages
    ids: Sequence[str]  # the ids of the list's units in the request


def whole_list(units: Sequence[ListUnit]) -> tuple[Request, Sequence[str]]:
    """The whole list of a request outside of a chat, and the ids of its units."""
    question = last_question(units)
    ids = tuple(map(str, range(len(units))))
    history = [
        Message.from_dict(unit.stored(name, ""))
        for name, unit in zip(ids, units[:question], strict=False)
    ]
    text = units[question].text
    return Request(message=text, history=tuple(history), is_of_client=True), ids


async def within_window(
    request: Request, window: Window | None, made: Callable[[Request], Outgoing]
) -> tuple[Request, Outgoing]:
    """A client's request, shortened if it does not fit into a window, and the body to send.

    If even the shortest request does not fit, nothing is left out, and the provider decides.

    Args:
        made: Gives the body of a request; called in a thread if it has to be shortened.
    """
    whole = made(request)
    if window is None or utf8_bytes(whole.text) <= window.room:
        return request, whole
    return await asyncio.to_thread(_shortened, request, window, made, whole)


def _shortened(
    request: Request, window: Window, made: Callable[[Request], Outgoing], whole: Outgoing
) -> tuple[Request, Outgoing]:
    texts = (text for value in reversed(whole.values()) for text in texts_of(value))
    count = counting(texts, window.count)
    tokens = tokens_of(whole, count)
    beside = tokens - prompt_tokens(request.messages(), count)
    less, sent = request, whole
    for n in range(_TRIES):
        if tokens <= window.room:
            return less, sent
        try:
            less = fitted(replace(request, beside=beside), window)
        except RequestTooLong:
            break
        sent = made(less)
        tokens = tokens_of(sent, count)
        beside += (tokens - window.room) << n
    return request, whole


def tokens_of(sent: Outgoing, count: CountTokens) -> int:
    """The tokens of a body, as all requests are counted."""
    beside = added_by_client(sent.fields).tokens_beside(count)
    return beside + prompt_tokens(sent.values(), count)


def countable(sent: Outgoing) -> tuple[Sequence[PromptMessage], str]:
    """The messages and tools of a body, if it consists of texts whose tokens can be counted.

    No messages if it has other content, such as images, or thoughts that only providers can read.
    """
    added = added_by_client(sent.fields)
    values = sent.values()
    if not all(map(_is_text, values)):
        return (), ""
    before = [{"role": "system", "content": added.before}] if added.before else []
    return [*before, *values], added.tools + added.schema


def _is_text(value: Any) -> bool:
    if not isinstance(value, dict) or value.get("type", "message") not in _ITEMS:
        return False
    content = value.get("content")
    parts = content if isinstance(content, list) else ()
    return all(isinstance(part, dict) and part.get("type") in _TEXTS for part in parts)
