"""Answers made here instead of by a provider: in a chat of the vault, or without a provider."""

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.types import Send

from smart_context.base.errors import ChatBusy, ChatIdInvalid, ModelFailed, SmartContextError
from smart_context.base.text.names import storable
from smart_context.chat.ids import check_chat_id
from smart_context.chat.messages import ChatId, Message
from smart_context.gateway.answers.gathered import GatheredAnswer
from smart_context.gateway.edge.errors import GatewayError, refused_by_plugin
from smart_context.gateway.edge.models import EMBEDDED
from smart_context.gateway.edge.receiving import DisconnectWatch, NobodyWaiting
from smart_context.gateway.requests.outgoing import ApiKind
from smart_context.gateway.requests.units import chat_units, response_units
from smart_context.gateway.turns.answer_headers import Headers, answer_headers
from smart_context.gateway.turns.client_source import ClientSource, Outcome, TurnAborted
from smart_context.gateway.turns.incoming import Incoming
from smart_context.host.access import Audience
from smart_context.host.commands.registry import Caller
from smart_context.host.events.events import CHAT_TOKEN, PIPELINE_START
from smart_context.host.host import Host
from smart_context.host.turn import Turn
from smart_context.llm.models import ChatModel, PromptMessage, Usage
from smart_context.llm.tokens import count_tokens

DONE = b"data: [DONE]\n\n"

_LINE_ENDS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}
"""Characters that JSON leaves unescaped and at which some clients split lines."""

_REASONS = {
    "cut_off": ("length", "max_output_tokens"),
    "filtered": ("content_filter", "content_filter"),
}
"""The reason of an early end in the words of both APIs, by the field of the stored answer."""


@dataclass(slots=True, kw_only=True)
class OwnAnswer:
    """An answer of our own, in the form of the requested API."""

    kind: ApiKind  # the API that the client uses
    model: str  # the model that answers
    created: int  # the time in seconds since 1970
    id: str = field(init=False)  # the id of the response
    # the field of the stored answer that marks an early end; empty for none
    ending: str = field(default="", init=False)
    _message_id: str = field(init=False)
    _number: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.id = f"{'chatcmpl' if self.kind == 'chat' else 'resp'}-{secrets.token_hex(12)}"
        self._message_id = f"msg_{secrets.token_hex(12)}"

    def whole(self, text: str, usage: tuple[int, int]) -> bytes:
        """The answer as one body."""
        if self.kind == "responses":
            return _json(self._response(self._status, text, usage))
        message = {"role": "assistant", "content": text, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self._reason}
        return _json({**self._completion("chat.completion"), "choices": [choice]} | _used(usage))

    def begin(self) -> bytes:
        """The first events of a stream."""
        if self.kind == "chat":
            return self._chunk({"role": "assistant", "content": ""})
        response = self._response("in_progress", None, None)
        item = self._item("in_progress", None)
        return b"".join(
            (
                self._event("response.created", response=response),
                self._event("response.in_progress", response=response),
                self._event("response.output_item.added", output_index=0, item=item),
                self._event("response.content_part.added", **self._at(), part=_part("")),
            )
        )

    def piece(self, text: str) -> bytes:
        """The next piece of the text."""
        if self.kind == "chat":
            return self._chunk({"content": text})
        return self._event("response.output_text.delta", **self._at(), delta=text, logprobs=[])

    def end(self, text: str, usage: tuple[int, int], *, with_usage: bool) -> Iterator[bytes]:
        """The last events of a stream."""
        if self.kind == "chat":
            yield self._chunk({}, self._reason)
            if with_usage:
                chunk = self._completion("chat.completion.chunk")
                yield _data({**chunk, "choices": []} | _used(usage))
            yield DONE
            return
        yield self._event("response.output_text.done", **self._at(), text=text, logprobs=[])
        yield self._event("response.content_part.done", **self._at(), part=_part(text))
        status = self._status
        item = self._item(status, text)
        yield self._event("response.output_item.done", output_index=0, item=item)
        yield self._event(f"response.{status}", response=self._response(status, text, usage))

    @property
    def _reason(self) -> str:
        return _REASONS[self.ending][0] if self.ending else "stop"

    @property
    def _status(self) -> str:
        return "incomplete" if self.ending else "completed"

    def _completion(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}

    def _chunk(self, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _data({**self._completion("chat.completion.chunk"), "choices": [choice]})

    def _response(
        self, status: str, text: str | None, usage: tuple[int, int] | None
    ) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "status": status,
            "error": None,
            "incomplete_details": (
                {"reason": _REASONS[self.ending][1]} if status == "incomplete" else None
            ),
            "instructions": None,
            "metadata": {},
            "model": self.model,
            "output": [] if text is None else [self._item(status, text)],
            "parallel_tool_calls": True,
            "temperature": None,
            "tool_choice": "auto",
            "tools": [],
            "top_p": None,
            "usage": None if usage is None else _response_usage(usage),
        }

    def _item(self, status: str, text: str | None) -> dict[str, Any]:
        content = [] if text is None else [_part(text)]
        said = {"type": "message", "role": "assistant", "status": status, "content": content}
        return {"id": self._message_id, **said}

    def _at(self) -> dict[str, Any]:
        return {"item_id": self._message_id, "output_index": 0, "content_index": 0}

    def _event(self, kind: str, **values: Any) -> bytes:
        event = {"type": kind, "sequence_number": self._number, **values}
        self._number += 1
        return f"event: {kind}\n".encode() + _data(event)


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _used(usage: tuple[int, int]) -> dict[str, Any]:
    asked, said = usage
    counts = {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}
    return {"usage": counts}


def _response_usage(usage: tuple[int, int]) -> dict[str, Any]:
    asked, said = usage
    return {
        "input_tokens": asked,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": said,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": asked + said,
    }


def _json(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False).translate(_LINE_ENDS)
    return storable(text).encode()


def _data(value: Any) -> bytes:
    return b"data: " + _json(value) + b"\n\n"


@dataclass(slots=True)
class OfflineSink:
    """Answers with the embedded responder, as there is no provider."""

    model: ChatModel
    incoming: Incoming
    watch: DisconnectWatch
    send: Send
    outcome: Outcome = field(default_factory=Outcome, init=False)

    async def give(self, source: ClientSource) -> None:
        """Send the whole answer."""
        gathered = self.outcome.gathered
        own = OwnAnswer(kind=self.incoming.kind, model=EMBEDDED, created=int(time.time()))
        gathered.response, gathered.model = own.id, EMBEDDED
        try:
            sent = await source.prepared()
            prompt = _prompt(self.incoming, [*sent.values()])
            pieces = self._pieces(prompt, gathered, source)
            asked = sum(count_tokens(str(message["content"])) for message in prompt)
            giving = _give(own, pieces, self.incoming, asked, self.send, source.headers)
            await self.watch.during(giving)
            said = count_tokens(gathered.first.text)
            gathered.usage = Usage(prompt_tokens=asked, completion_tokens=said)
            gathered.is_whole = True
        except TurnAborted as aborted:
            source.failure = refused_by_plugin(aborted)
        except ModelFailed as failed:
            self.outcome.error = str(failed)
            source.failure = GatewayError(502, str(failed))
        except NobodyWaiting:
            self.outcome.is_stopped = True

    async def end(self) -> None:
        """Do nothing, since the end was sent with the answer."""

    async def _pieces(
        self, prompt: list[PromptMessage], gathered: GatheredAnswer, source: ClientSource
    ) -> AsyncIterator[str]:
        turn = source.turn
        if turn is not None and turn.response is not None:
            gathered.first.texts.append(turn.response)
            source.ends()
            yield turn.response
            return
        if turn is not None:
            turn.is_extracted = True
        async for piece in self.model.stream(prompt):
            if piece.text:
                gathered.first.texts.append(piece.text)
                source.arrived(piece.text)
                task = asyncio.current_task()
                if not (task and task.cancelling()):  # a stop must not wait for the client
                    yield piece.text
        source.ends()


class OwnAnswers:
    """Answers requests for chats of the vault."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def of_chat(
        self, caller: Caller, incoming: Incoming, watch: DisconnectWatch, send: Send
    ) -> None:
        """Run a turn in a chat of the vault, with the vault's own history.

        Raises:
            GatewayError: If there is no such chat, it is being answered, or the request has no
                question.
        """
        name = incoming.model.partition(":")[2]
        chat_id = await self._known(caller, name)
        units = incoming.units
        asks = units and units[incoming.question].role == "user"
        text = _text_of(units[incoming.question].content) if asks else ""
        if not text.strip():
            param = "messages" if incoming.kind == "chat" else "input"
            raise GatewayError(400, "There is no user message to answer.", param=param)
        own = OwnAnswer(kind=incoming.kind, model=incoming.model, created=int(time.time()))
        begun = _BegunTurn(chat_id, incoming)
        pieces = self._turn_pieces(caller, chat_id, text, own, is_stream=incoming.is_stream)
        unsubscribe = self._host.bus.subscribe(PIPELINE_START, begun.note)
        try:
            asked = count_tokens(text)
            await watch.during(_give(own, pieces, incoming, asked, send, begun.headers))
        except NobodyWaiting:
            await self._host.turns.stop(chat_id)
            raise
        except ChatBusy as error:
            raise GatewayError(429, str(error)) from None
        except SmartContextError as error:
            raise GatewayError(502, str(error)) from None
        finally:
            unsubscribe()

    async def _known(self, caller: Caller, name: str) -> ChatId:
        try:
            chat_id = check_chat_id(name)
            if await self._host.reading.has_chat(caller, chat_id):
                return chat_id
        except ChatIdInvalid:
            pass
        raise GatewayError(
            404, f"There is no chat {name!r}.", param="model", code="model_not_found"
        )

    async def _turn_pieces(
        self, caller: Caller, chat_id: str, text: str, own: OwnAnswer, *, is_stream: bool
    ) -> AsyncIterator[str]:
        """The text of a turn's answer, piece by piece; sets the ending of `own`."""
        arrived: asyncio.Queue[str | None] = asyncio.Queue()

        def listen(event: str, payload: Mapping[str, Any], _audience: Audience) -> None:
            if event == CHAT_TOKEN.name and payload["chat_id"] == chat_id:
                arrived.put_nowait(payload["text"])

        unsubscribe = self._host.on_event(listen)
        params = {"chat_id": chat_id, "message": text, "stream": True}
        turn = asyncio.create_task(self._host.commands.call("chat.send", params, caller))
        turn.add_done_callback(lambda _: arrived.put_nowait(None))
        said = ""
        try:
            while (piece := await arrived.get()) is not None:
                said += piece
                if is_stream:
                    yield piece
            result = await turn
            stored = await self._host.reading.messages(caller, chat_id)
            answer = next((m for m in stored if m.id == result["message_ids"][-1]), None)
            if answer is not None:
                own.ending = next(filter(answer.extra.get, _REASONS), "")
            rest = _rest(answer, said if is_stream else "")
            if rest:
                yield rest
        finally:
            unsubscribe()


class _BegunTurn:
    """The turn that a request for a chat of the vault started.

    A chat has one turn at a time, so the answer is from the last turn that started.
    """

    def __init__(self, chat_id: ChatId, incoming: Incoming) -> None:
        self._chat_id = chat_id
        self._came = incoming.item_count
        self._turn: Turn | None = None

    async def note(self, turn: Turn) -> None:
        """Remember the turn if it is in the chat."""
        if turn.chat_id == self._chat_id:
            self._turn = turn

    def headers(self) -> Headers:
        """The headers of the answer; see `answer_headers`."""
        sent = None if self._turn is None else len(self._turn.sent)
        return answer_headers(self._chat_id, self._turn, self._came, sent)


def _rest(answer: Message | None, said: str) -> str:
    """The part of a stored answer that is not sent yet; empty if it is not a continuation."""
    if answer is None:
        return ""
    return answer.text.removeprefix(said) if answer.text.startswith(said) else ""


async def give_text(
    text: str, incoming: Incoming, watch: DisconnectWatch, send: Send, headers: Headers
) -> None:
    """Send a text as the answer, streamed if that was requested."""
    own = OwnAnswer(kind=incoming.kind, model=incoming.model, created=int(time.time()))
    await watch.during(_give(own, _one(text), incoming, 0, send, lambda: headers))


async def _one(text: str) -> AsyncIterator[str]:
    yield text


async def _give(
    own: OwnAnswer,
    pieces: AsyncIterator[str],
    incoming: Incoming,
    asked: int,
    send: Send,
    headers: Callable[[], Headers],
) -> None:
    """Send an answer, streamed if that was requested."""
    texts: list[str] = []
    if not incoming.is_stream:
        texts = [piece async for piece in pieces]
        text = "".join(texts)
        body = own.whole(text, (asked, count_tokens(text)))
        await _start(send, b"application/json", headers())
        await send({"type": "http.response.body", "body": body})
        return
    is_begun = False
    try:
        async for piece in pieces:
            if not is_begun:
                is_begun = True
                await _start(send, b"text/event-stream; charset=utf-8", headers())
                await _more(send, own.begin())
            texts.append(piece)
            await _more(send, own.piece(piece))
    except SmartContextError as error:
        if not is_begun:
            raise
        await send({"type": "http.response.body", "body": GatewayError(502, str(error)).event()})
        return
    if not is_begun:
        await _start(send, b"text/event-stream; charset=utf-8", headers())
        await _more(send, own.begin())
    text = "".join(texts)
    options = incoming.body.get("stream_options")
    with_usage = isinstance(options, Mapping) and options.get("include_usage") is True
    for event in own.end(text, (asked, count_tokens(text)), with_usage=with_usage):
        await _more(send, event)
    await send({"type": "http.response.body", "body": b""})


async def _start(send: Send, content_type: bytes, headers: Headers) -> None:
    every = [(b"content-type", content_type), *headers]
    await send({"type": "http.response.start", "status": 200, "headers": every})


async def _more(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})


def _prompt(incoming: Incoming, items: list[Any]) -> list[PromptMessage]:
    """The messages for the responder: only roles and texts."""
    units = chat_units(items) if incoming.kind == "chat" else response_units(items)
    prompt = [{"role": unit.role, "content": _text_of(unit.content)} for unit in units]
    return [message for message in prompt if message["content"]]


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text")) for part in content if part.get("type") == "text")
