"""Keeps every request within the model's window: the last word on what is sent.

Others choose what should go to the model; here is what happens when that is too much, because of
a long message, of what tools gave, or of what plugins added. As much as is too much goes, in the
order of `_SACRIFICES`, and the rest stays as it was chosen.
"""

import json
from collections.abc import Callable
from dataclasses import replace

from smart_context.chat.compaction import sent_text, within_budget
from smart_context.chat.messages import Message, Part
from smart_context.errors import RequestTooLong
from smart_context.host.request.request import Request
from smart_context.host.request.results import RESULT_LEFT_OUT, shortened
from smart_context.host.request.window import PER_CALL, PER_MESSAGE, Window, texts_of, tokens_of
from smart_context.llm.tally import counting, weight
from smart_context.values import CountTokens

ATTACHED_LEFT_OUT = "\n\n[The attached texts are left out: they don't fit into the model's window.]"
_LEAST_OF_A_RESULT = 100


def surely_fits(request: Request, window: Window) -> bool:
    """Whether a request fits whatever its texts are: known at once, without counting."""
    return _total(request, weight) <= window.room


def fitted(request: Request, window: Window) -> Request:
    """The request with so much left out that it fits.

    Raises:
        RequestTooLong: If it does not even when all is left out that may be.
    """
    if surely_fits(request, window):
        return request
    meter = _Meter(request, window)
    for sacrifice in _SACRIFICES:
        if meter.over(request) <= 0:
            return request
        request = sacrifice(request, meter)
    if (over := meter.over(request)) > 0:
        raise _too_long(request, window, over + window.room)
    return request


class _Meter:
    """Says how far requests are over the room, counting each text once."""

    def __init__(self, request: Request, window: Window) -> None:
        texts = (text for message in reversed(request.messages()) for text in texts_of(message))
        self.count = counting(texts, window.count)
        self.room = window.room

    def over(self, request: Request) -> int:
        return _total(request, self.count) - self.room

    def cost(self, message: Message) -> int:
        calls = 0 if isinstance(message.content, str) else len(message.content)
        return self.count(sent_text(message)) + PER_MESSAGE + calls * (PER_CALL + PER_MESSAGE)


def _total(request: Request, count: CountTokens) -> int:
    tools = request.offered()
    schemas = count(json.dumps(tools, ensure_ascii=False)) if tools else 0
    return schemas + tokens_of(request.messages(), count)


def _without_old_results(request: Request, meter: _Meter) -> Request:
    """Results of earlier rounds go, oldest first; the model reads that they did."""
    for at in range(request.newest_step):
        if meter.over(request) <= 0:
            break
        part = request.steps[at]
        if part.get("type") == "tool_call" and len(str(part["result"])) > len(RESULT_LEFT_OUT):
            request = _with_result(request, at, RESULT_LEFT_OUT)
    return request


def _with_half_of_results(request: Request, meter: _Meter) -> Request:
    """The newest results share half of the room."""
    return _with_results_in(request, meter, meter.room // 2)


def _with_least_of_results(request: Request, meter: _Meter) -> Request:
    """They share what is left, and a little is left of each in any case."""
    newest = _newest_results(request)
    taken = sum(meter.count(str(request.steps[at].get("result"))) for at in newest)
    return _with_results_in(request, meter, max(taken - meter.over(request), 0))


def _with_results_in(request: Request, meter: _Meter, room: int) -> Request:
    newest = _newest_results(request)
    by_size = sorted(newest, key=lambda at: meter.count(str(request.steps[at].get("result"))))
    for done, at in enumerate(by_size):
        share = max(room // (len(by_size) - done), _LEAST_OF_A_RESULT)
        result = shortened(str(request.steps[at].get("result")), share, meter.count)
        request = _with_result(request, at, result)
        room = max(room - meter.count(result), 0)
    return request


def _newest_results(request: Request) -> list[int]:
    places = range(request.newest_step, len(request.steps))
    return [at for at in places if request.steps[at].get("type") == "tool_call"]


def _with_result(request: Request, at: int, result: str) -> Request:
    part: Part = {**request.steps[at], "result": result}
    return replace(request, steps=(*request.steps[:at], part, *request.steps[at + 1 :]))


def _without_old_messages(request: Request, meter: _Meter) -> Request:
    """The oldest messages go; those that are protected, and summaries, stay."""
    others = _total(replace(request, history=()), meter.count)
    room = meter.room - others
    kept = within_budget(request.history, room, meter.cost, keep=request.protected)
    return replace(request, history=tuple(kept))


def _without_protected(request: Request, meter: _Meter) -> Request:
    """Pinned messages and standing instructions go, oldest first."""
    return _without_old_messages(replace(request, protected=frozenset()), meter)


def _without_history(request: Request, _meter: _Meter) -> Request:
    """All of the history goes, a summary and a leading instruction too."""
    return replace(request, history=(), protected=frozenset())


def _without_spare(request: Request, _meter: _Meter) -> Request:
    """The attached contexts go."""
    if not request.spare:
        return request
    before, found, after = request.system_prompt.partition(request.spare)
    shorter = f"{before.rstrip()}\n\n{after.lstrip()}".strip() if found else before
    return replace(request, system_prompt=shorter, spare="")


def _without_old_images(request: Request, _meter: _Meter) -> Request:
    """Images of earlier messages are no longer shown, only named."""
    own = {file.get("storage_key") for file in request.files}
    return replace(request, images={k: uri for k, uri in request.images.items() if k in own})


def _without_tools(request: Request, _meter: _Meter) -> Request:
    """Tools are no longer offered; their descriptions take room too."""
    return replace(request, tools=())


def _without_attached(request: Request, _meter: _Meter) -> Request:
    """What is attached to the message goes, and the model reads that it did."""
    message = request.message
    if request.attached:
        before, found, after = message.partition(request.attached)
        message = f"{before.rstrip()}{ATTACHED_LEFT_OUT}{after.rstrip()}" if found else message
    return replace(request, message=message, images={}, attached="")


_SACRIFICES: tuple[Callable[[Request, _Meter], Request], ...] = (
    _with_half_of_results,
    _without_old_results,
    _without_old_messages,
    _without_old_images,
    _with_least_of_results,
    _without_spare,
    _without_tools,
    _without_protected,
    _without_history,
    _without_attached,
)


def _too_long(request: Request, window: Window, tokens: int) -> RequestTooLong:
    system = window.count(request.system_prompt) if request.system_prompt.strip() else 0
    beside = f", the system prompt's {system:,} among them" if system else ""
    takes = (
        f"The model takes {window.tokens:,}, of which {window.tokens - window.room:,} are kept "
        "for the answer."
    )
    larger = "choose a model with a larger window in .vault.toml (context_window says how large)"
    if request.steps:
        return RequestTooLong(
            f"What {window.model} asked for to answer is too much for it: with the message that "
            f"is about {tokens:,} tokens{beside}. {takes} Ask for less at once, or {larger}."
        )
    return RequestTooLong(
        f"The message is too long for {window.model}: by itself it makes a request of about "
        f"{tokens:,} tokens{beside}. {takes} Nothing was sent. Shorten the message, attach its "
        f"text as a file, or {larger}."
    )
