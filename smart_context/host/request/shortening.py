"""Shortens a request until it fits into the model's window: the last word on what is sent.

Plugins choose the messages for the model. If a request is too long, because of a long message,
results of tools, or additions of plugins, parts are left out in the order of `_STEPS` until the
rest fits.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from smart_context.base.errors import RequestTooLong
from smart_context.base.values import CountTokens
from smart_context.chat.compaction import within_budget
from smart_context.chat.messages import Message, Part
from smart_context.host.request.request import Request, schemas_text
from smart_context.host.request.tokens import message_tokens, prompt_tokens, texts_of
from smart_context.host.request.window import NEWEST_RESULTS_SHARE, RESULTS_SHARE, Window
from smart_context.llm.estimating import utf8_bytes
from smart_context.llm.tokens import counting

RESULT_LEFT_OUT = (
    "[Left out: this result no longer fits into the model's window. "
    "Ask again for the part that you need.]"
)


def with_results_within(history: Sequence[Message], window: Window) -> list[Message]:
    """Cut the results of tools in a history to their share of the window, the newest first."""
    room = window.share_of_room(RESULTS_SHARE)
    kept: list[Message] = []
    for message in reversed(history):
        if isinstance(message.content, str) and message.role != "tool":
            kept.append(message)
            continue
        parts = list(message.parts)
        is_cut = False
        for index in range(len(parts) - 1, -1, -1):
            whole = parts[index]
            parts[index], tokens = _within(whole, message.role, room, window.count)
            is_cut = is_cut or parts[index] is not whole
            room -= tokens
        kept.append(message.with_content(parts) if is_cut else message)
    kept.reverse()
    return kept


def _within(part: Part, role: str, room: int, count: CountTokens) -> tuple[Part, int]:
    """The part with its result cut to `room` tokens, and the tokens that it takes."""
    name = "result" if part.get("type") == "tool_call" else "text" if role == "tool" else ""
    result = part.get(name)
    if result is None:
        return part, 0
    text = (
        result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)
    )
    if utf8_bytes(text) <= max(room, len(RESULT_LEFT_OUT)):
        return part, min(utf8_bytes(text), room)
    if (tokens := count(text)) <= room:
        return part, tokens
    less = cut_result(text, room, count)
    return {**part, name: less}, min(count(less), room)


def cut_result(text: str, most_tokens: int, count: CountTokens) -> str:
    """The beginning of a tool's result with a notice, in at most `most_tokens`."""
    tokens = count(text)
    if tokens <= most_tokens:
        return text
    length = len(text)
    while tokens > most_tokens and length:
        length = length * most_tokens * 9 // (tokens * 10)
        notice = f"[Cut: {length:,} of {len(text):,} characters; ask for a smaller part.]"
        cut = f"{text[:length]}\n{notice}"
        tokens = count(cut)
        if tokens <= most_tokens:
            return cut
    return RESULT_LEFT_OUT


ATTACHED_LEFT_OUT = "\n\n[The attached texts are left out: they don't fit into the model's window.]"
_LEAST_OF_A_RESULT = 100


def surely_fits(request: Request, window: Window) -> bool:
    """True if a request fits by its bytes alone; needs no counting of tokens."""
    return _total(request, utf8_bytes) <= window.room


def fitted(request: Request, window: Window) -> Request:
    """Leave out the parts that don't fit into the window.

    Raises:
        RequestTooLong: If even the message alone is too long.
    """
    if surely_fits(request, window):
        return request
    meter = _RequestMeter(request, window)
    for shorten in _STEPS:
        if meter.over(request) <= 0:
            return request
        request = shorten(request, meter)
    if (over := meter.over(request)) > 0:
        raise _too_long(request, window, over + window.room)
    return request


class _RequestMeter:
    """Measures requests against the window, counting each text once."""

    def __init__(self, request: Request, window: Window) -> None:
        texts = (text for message in reversed(request.messages()) for text in texts_of(message))
        self.count = counting(texts, window.count)
        self.room = window.room

    def over(self, request: Request) -> int:
        return _total(request, self.count) - self.room

    def cost(self, message: Message) -> int:
        return message_tokens(message, self.count)


def _total(request: Request, count: CountTokens) -> int:
    schemas = schemas_text(request.offered())
    besides = (count(schemas) if schemas else 0) + request.beside
    return besides + prompt_tokens(request.messages(), count)


def _without_old_results(request: Request, meter: _RequestMeter) -> Request:
    """Replace results of earlier rounds by a notice, oldest first."""
    for index in range(request.newest_step):
        if meter.over(request) <= 0:
            break
        part = request.steps[index]
        if part.get("type") == "tool_call" and len(str(part["result"])) > len(RESULT_LEFT_OUT):
            request = _with_result(request, index, RESULT_LEFT_OUT)
    return request


def _with_half_of_results(request: Request, meter: _RequestMeter) -> Request:
    """Cut the newest results to half of the room."""
    return _with_results_in(request, meter, int(meter.room * NEWEST_RESULTS_SHARE))


def _with_least_of_results(request: Request, meter: _RequestMeter) -> Request:
    """Cut the newest results to the rest of the room; each keeps at least its first lines."""
    newest = _newest_results(request)
    taken = sum(meter.count(str(request.steps[index].get("result"))) for index in newest)
    return _with_results_in(request, meter, max(taken - meter.over(request), 0))


def _with_results_in(request: Request, meter: _RequestMeter, room: int) -> Request:
    newest = _newest_results(request)
    by_size = sorted(newest, key=lambda index: meter.count(str(request.steps[index].get("result"))))
    for done, index in enumerate(by_size):
        share = max(room // (len(by_size) - done), _LEAST_OF_A_RESULT)
        result = cut_result(str(request.steps[index].get("result")), share, meter.count)
        request = _with_result(request, index, result)
        room = max(room - meter.count(result), 0)
    return request


def _newest_results(request: Request) -> list[int]:
    places = range(request.newest_step, len(request.steps))
    return [index for index in places if request.steps[index].get("type") == "tool_call"]


def _with_result(request: Request, index: int, result: str) -> Request:
    part: Part = {**request.steps[index], "result": result}
    return replace(request, steps=(*request.steps[:index], part, *request.steps[index + 1 :]))


def _without_old_messages(request: Request, meter: _RequestMeter) -> Request:
    """Leave out the oldest messages, except protected ones and summaries."""
    others = _total(replace(request, history=()), meter.count)
    room = meter.room - others
    keep = request.protected.union(message.id for message in _always_sent(request))
    kept = within_budget(request.history, room, meter.cost, keep=keep)
    less = replace(request, history=tuple(kept))
    if request.order and (over := meter.over(less)) > 0:  # that order adds texts between messages
        room = sum(map(meter.cost, kept)) - over
        kept = within_budget(request.history, room, meter.cost, keep=keep)
        less = replace(request, history=tuple(kept))
    return less


def _always_sent(request: Request) -> tuple[Message, ...]:
    """The system messages of another program, which only that program may leave out."""
    history = request.history if request.is_of_client else ()
    return tuple(message for message in history if message.role == "system")


def _without_protected(request: Request, meter: _RequestMeter) -> Request:
    """Leave out pinned messages and standing instructions, too, oldest first."""
    return _without_old_messages(replace(request, protected=frozenset()), meter)


def _without_history(request: Request, _meter: _RequestMeter) -> Request:
    """Leave out the whole history, even summaries, except another program's system messages."""
    return replace(request, history=_always_sent(request))


def _without_optional_prompt(request: Request, _meter: _RequestMeter) -> Request:
    """Leave out the attached contexts and recalls."""
    if not request.optional_prompt:
        return request
    before, _, after = request.system_prompt.partition(request.optional_prompt)
    shorter = f"{before.rstrip()}\n\n{after.lstrip()}".strip()
    return replace(request, system_prompt=shorter, optional_prompt="")


def _without_old_images(request: Request, _meter: _RequestMeter) -> Request:
    """Name images of earlier messages instead of showing them."""
    own = {file.get("storage_key") for file in request.files}
    return replace(request, images={k: uri for k, uri in request.images.items() if k in own})


def _without_tools(request: Request, _meter: _RequestMeter) -> Request:
    """Offer no tools, since their descriptions take room."""
    return replace(request, tools=())


def _without_attached(request: Request, _meter: _RequestMeter) -> Request:
    """Replace the message's attached texts by a notice, and leave out all images."""
    message = request.message
    if request.attached_text:
        before, found, after = message.partition(request.attached_text)
        message = f"{before.rstrip()}{ATTACHED_LEFT_OUT}{after.rstrip()}" if found else message
    return replace(request, message=message, images={}, attached_text="")


_STEPS: tuple[Callable[[Request, _RequestMeter], Request], ...] = (
    _with_half_of_results,
    _without_old_results,
    _without_old_messages,
    _without_old_images,
    _with_least_of_results,
    _without_optional_prompt,
    _without_tools,
    _without_protected,
    _without_history,
    _without_attached,
)


def _too_long(request: Request, window: Window, tokens: int) -> RequestTooLong:
    system = window.count(request.system_prompt) if request.system_prompt.strip() else 0
    prompt = f", {system:,} of them the system prompt" if system else ""
    takes = (
        f"The model takes {window.tokens:,}, of which {window.tokens - window.room:,} are kept "
        "for the answer."
    )
    larger = "choose a model with a larger window in .vault.toml (context_window says how large)"
    if request.steps:
        return RequestTooLong(
            f"What {window.model} asked for to answer is too much for it: with the message that "
            f"is about {tokens:,} tokens{prompt}. {takes} Ask for less at once, or {larger}."
        )
    return RequestTooLong(
        f"The message is too long for {window.model}: by itself it makes a request of about "
        f"{tokens:,} tokens{prompt}. {takes} Nothing was sent. Shorten the message, attach its "
        f"text as a file, or {larger}."
    )
