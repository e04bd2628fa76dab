"""A provider's answers: passes the request on, and the answer back unchanged."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace

from starlette.types import Send

from smart_context.base.config import EndpointSettings
from smart_context.base.errors import ModelFailed
from smart_context.gateway.answers.gathered import GatheredAnswer
from smart_context.gateway.edge.errors import GatewayError, refused_by_plugin, with_hint
from smart_context.gateway.edge.own_answers import give_text
from smart_context.gateway.edge.paths import PATHS
from smart_context.gateway.edge.receiving import DisconnectWatch, NobodyWaiting
from smart_context.gateway.edge.relay import Relay, end, read_all
from smart_context.gateway.edge.upstream import ProviderAnswer, ProviderCall, Upstream
from smart_context.gateway.requests.outgoing import Outgoing
from smart_context.gateway.turns.answer_headers import Headers
from smart_context.gateway.turns.exchange import Exchange, Outcome, TurnAborted
from smart_context.gateway.turns.incoming import Incoming
from smart_context.gateway.turns.saving import finished
from smart_context.llm.failures import explained

MAX_SHORT_BYTES = 8 << 20
SAVED_WITHIN_S = 5.0
"""Maximum time that the end of a body waits until the answer is saved."""

_ERROR, _NOT_FOUND = 400, 404
_MAY_SAY_WHY = frozenset({400, 413, 422, 500})
_OF_THE_BODY = (b"content-type", b"content-length", b"content-encoding")
_NO_RESPONSES = (
    "This provider may not know the Responses API; set the client to chat completions, or use "
    "a provider that has it."
)


@dataclass(slots=True)
class _Ending:
    """The end of the answer, as far as it is known."""

    gathered: GatheredAnswer
    error: str = ""
    status: int = 0
    is_stopped: bool = False
    needs_end: bool = False
    text: str = ""
    # status, body and headers of an answer that is sent in one piece
    whole: tuple[int, bytes, Headers] | None = None

    def outcome(self) -> Outcome:
        if self.text:
            self.gathered.first.texts.append(self.text)
            self.gathered.is_whole = True
        error = self.error
        if self.status and not error and not self.gathered.error:
            error = f"The provider answered with status {self.status}."
        return Outcome(
            gathered=self.gathered,
            error=error,
            error_code=self.status,
            # Many clients disconnect as soon as they have the end.
            is_stopped=self.is_stopped and not self.gathered.is_whole,
        )


async def provide(
    upstream: Upstream,
    exchange: Exchange,
    incoming: Incoming,
    endpoint: EndpointSettings,
    watch: DisconnectWatch,
    send: Send,
) -> None:
    """Pass a request on and its answer back; the chat keeps the answer."""
    ending = _Ending(GatheredAnswer())
    try:
        await exchange.begin()
        if exchange.turn is not None and exchange.turn.response is not None:
            text = ending.text = exchange.turn.response
            await give_text(text, incoming, watch, send, exchange.headers())
            return
        call = ProviderCall(
            endpoint=endpoint,
            method="POST",
            path=PATHS[incoming.kind],
            headers=incoming.headers,
        )
        await _ask(upstream, call, exchange, incoming, watch, send, ending)
    except TurnAborted as aborted:
        refused = refused_by_plugin(aborted)
        ending.whole = (refused.status, refused.body(), exchange.headers())
    except GatewayError as refused:
        ending.error, ending.status = str(refused), refused.status
        ending.whole = (refused.status, refused.body(), exchange.headers())
    except NobodyWaiting:
        ending.is_stopped = True
    except asyncio.CancelledError:
        ending.is_stopped = True
        raise
    finally:
        await _finish(exchange, ending, send)


async def _finish(exchange: Exchange, ending: _Ending, send: Send) -> None:
    """Save the answer, then end the body.

    So when a client has seen the end, the chat usually has the answer; see `SAVED_WITHIN_S`.
    """
    saving = asyncio.ensure_future(exchange.finish(ending.outcome()))
    await asyncio.wait([saving], timeout=SAVED_WITHIN_S)
    if ending.whole is not None:
        await send_whole(send, *ending.whole)
    elif ending.needs_end:
        await end(send)
    await finished(saving)


async def _ask(
    upstream: Upstream,
    call: ProviderCall,
    exchange: Exchange,
    incoming: Incoming,
    watch: DisconnectWatch,
    send: Send,
    ending: _Ending,
) -> None:
    answers: list[ProviderAnswer] = []

    async def ask(sent: Outgoing) -> None:
        for refused in answers:
            await refused.aclose()
        answer = await upstream.send(replace(call, body=incoming.body.encoded(sent.text)))
        answers.append(answer)
        await _raise_refusal(answer, call)

    try:
        with suppress(ModelFailed):  # the provider's words are passed on
            await watch.during(exchange.request.asked(ask))
        await _pass_on(answers[-1], exchange, incoming, watch, send, ending)
    finally:
        for answer in answers:
            await answer.aclose()  # even if nothing was read of it


async def _raise_refusal(answer: ProviderAnswer, call: ProviderCall) -> None:
    """Raise `ModelFailed` if an answer refuses the request, and may say why."""
    if answer.failure is not None and answer.status in _MAY_SAY_WHY:
        failure = replace(answer.failure, words=await answer.words())
        raise explained(failure, call.endpoint, call.kind)


async def _pass_on(
    answer: ProviderAnswer,
    exchange: Exchange,
    incoming: Incoming,
    watch: DisconnectWatch,
    send: Send,
    ending: _Ending,
) -> None:
    ending.status = answer.status if answer.status >= _ERROR else 0
    if answer.status == _NOT_FOUND and incoming.kind == "responses":
        body = await read_all(answer, MAX_SHORT_BYTES)
        theirs = [pair for pair in answer.headers if pair[0] not in _OF_THE_BODY]
        headers = [*theirs, *exchange.headers()]
        ending.whole = (_NOT_FOUND, with_hint(body, _NO_RESPONSES), headers)
        return
    relay = Relay(answer, exchange.headers(), exchange.arrived, exchange.ends)
    ending.gathered = relay.gathered
    ending.needs_end = await watch.during(relay.run(send))
    ending.error = relay.error


async def send_whole(send: Send, status: int, body: bytes, headers: Headers) -> None:
    """Send a JSON answer as one body."""
    every = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*every, *headers]})
    await send({"type": "http.response.body", "body": body})
