"""Completes a request before it is sent: adds images, then fits it to the window.

Plugins choose the messages for the model. If a request is too long, because of a long message,
results of tools, or additions of plugins, parts are left out in the order of `_STEPS` until the
rest fits.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from smart_context.base.config import EndpointSettings
from smart_context.base.errors import RequestTooLong
from smart_context.base.values import CountTokens
from smart_context.chat.compaction import within_budget
from smart_context.chat.messages import Message, Part
from smart_context.host.request.known_models import KnownModels
from smart_context.host.request.prompt import is_image
from smart_context.host.request.request import Request, schemas_text
from smart_context.host.request.speaking_order import SpeakingOrder
from smart_context.host.request.tokens import message_tokens, prompt_tokens, texts_of
from smart_context.host.request.window import NEWEST_RESULTS_SHARE, RESULTS_SHARE, Window, window_of
from smart_context.llm.estimating import utf8_bytes
from smart_context.llm.models import PromptMessage
from smart_context.llm.tokens import TokenCounter, counting
from smart_context.storage.ports import Blobs

MAX_IMAGES = 8
"""The maximum number of images in one request, the newest first."""


@dataclass(frozen=True, slots=True)
class RequestCompletion:
    """The last changes to a request, the same for a turn and for its preview."""

    endpoint: Callable[[], EndpointSettings | None]  # the current chat model, if one is configured
    known: KnownModels  # the facts about models from their servers

    @property
    def window(self) -> Window | None:
        """The chat model's window; `None` if it is unknown."""
        return self.window_of(self.endpoint())

    def fitting_window(self, endpoint: EndpointSettings | None) -> Window | None:
        """The window that surely fits a model after its last refusal; `None` if unknown."""
        if endpoint is None:
            return None
        is_guess = self.known.window(endpoint) is None
        count = self.counter(endpoint.model)
        found = window_of(endpoint, count, self.known.fitting_window)
        return found and replace(found, is_guess=is_guess)

    def window_of(self, endpoint: EndpointSettings | None) -> Window | None:
        """A model's window; `None` if it is unknown."""
        if endpoint is None:
            return None
        return window_of(endpoint, self.counter(endpoint.model), self.known.window)

    def counter(self, model: str) -> TokenCounter:
        """The token counter of a model."""
        return self.known.counter(model)

    def learn_counts(self, request: Request, sent: Sequence[PromptMessage], counted: int) -> None:
        """Learn from the tokens that the chat model's endpoint counted in a request."""
        endpoint = self.endpoint()
        if endpoint is not None and not request.images:
            tools = schemas_text(request.offered())
            self.known.learn_counts(endpoint, sent, tools, counted)

    @property
    def may_be_cut(self) -> bool:
        """True if the chat model's server may cut requests without a word."""
        endpoint = self.endpoint()
        return endpoint is not None and self.known.may_cut_silently(endpoint)

    async def ask(self) -> None:
        """Ask the chat model's server about the model, unless it has been asked already."""
        await self.known.ask(self.endpoint())

    async def keep_guess(self, window: Window | None, endpoint: EndpointSettings | None) -> None:
        """Use the window of a request that was answered from now on, if it was a guess."""
        if window is not None and window.is_guess and endpoint is not None:
            await self.known.keep_guess(endpoint)

    async def completed(self, request: Request, files: Blobs) -> Request:
        """The request as it would be sent; raises `RequestTooLong` if it would be refused.

        Args:
            files: The attached files that the person who asks may read.
        """
        return await within(self.window, await self.with_images(request, files))

    async def with_images(self, request: Request, files: Blobs) -> Request:
        """The request in the model's order and, if the model can see them, with its images."""
        keys = self.image_keys(request)
        found = {key: uri for key in keys if (uri := await files.data_uri(key))}
        endpoint = self.endpoint()
        return replace(
            request,
            images=found,
            order=self.known.order(endpoint),
            has_tools_behind=self.known.puts_tools_behind(endpoint),
        )

    def order_of_client(self, model: str) -> SpeakingOrder:
        """The order of messages that the chat model's endpoint needs for a client's model."""
        return self.known.order(self._of_client(model))

    def window_of_client(self, model: str) -> Window | None:
        """The window of a client's model at the chat model's endpoint; see `certain_window`."""
        return self.certain_window(self._of_client(model))

    def certain_window(self, endpoint: EndpointSettings | None) -> Window | None:
        """A model's window, if it was set, told, or learned from a refusal; `None` otherwise.

        Other programs' requests are shortened only for such a window; else their provider decides.
        """
        count = self.counter(endpoint.model) if endpoint else None
        return window_of(endpoint, count, self.known.certain_window)

    def _of_client(self, model: str) -> EndpointSettings | None:
        endpoint = self.endpoint()
        return endpoint and replace(endpoint, model=model or endpoint.model)

    def image_keys(self, request: Request) -> Sequence[str]:
        """The keys of the images that the model would be shown; none if it can't see images."""
        endpoint = self.endpoint()
        if endpoint is None or not endpoint.images:
            return ()
        return first_images([*request.files, *_files_of(request.history)])


def first_images(entries: Sequence[Mapping[str, Any]]) -> Sequence[str]:
    """The keys of the first images among these attached files."""
    keys = dict.fromkeys(str(entry.get("storage_key")) for entry in entries if is_image(entry))
    return list(keys)[:MAX_IMAGES]


async def within(window: Window | None, request: Request) -> Request:
    """The request, shortened to fit into the window if that is known.

    Raises:
        RequestTooLong: If it can't be shortened enough.
    """
    if window is None or surely_fits(request, window):
        return request
    return await asyncio.to_thread(fitted, request, window)


def _files_of(history: Sequence[Message]) -> list[Mapping[str, Any]]:
    """The files of a history, newest first."""
    return [file for message in reversed(history) for file in reversed(message.files)]


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
