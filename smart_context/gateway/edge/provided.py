"""A provider's answers: passes the request on, and the answer back unchanged."""

from contextlib import suppress
from dataclasses import dataclass, field, replace

from starlette.types import Send

from smart_context.base.config import EndpointSettings
from smart_context.base.errors import ModelFailed
from smart_context.gateway.edge.errors import GatewayError, refused_by_plugin, with_hint
from smart_context.gateway.edge.own_answers import give_text
from smart_context.gateway.edge.paths import PATHS
from smart_context.gateway.edge.receiving import DisconnectWatch, NobodyWaiting
from smart_context.gateway.edge.relay import Relay, end, read_all
from smart_context.gateway.edge.upstream import ProviderAnswer, ProviderCall, Upstream
from smart_context.gateway.requests.outgoing import Outgoing
from smart_context.gateway.turns.answer_headers import Headers
from smart_context.gateway.turns.client_source import ClientSource, Outcome, TurnAborted
from smart_context.gateway.turns.incoming import Incoming
from smart_context.llm.failures import explained

MAX_SHORT_BYTES = 8 << 20
_ERROR, _NOT_FOUND = 400, 404
_MAY_SAY_WHY = frozenset({400, 413, 422, 500})
_OF_THE_BODY = (b"content-type", b"content-length", b"content-encoding")
_NO_RESPONSES = (
    "This provider may not know the Responses API; set the client to chat completions, or use "
    "a provider that has it."
)


@dataclass(slots=True)
class ProviderSink:
    """Passes a request on to the provider, and its answer back to the client."""

    upstream: Upstream
    incoming: Incoming
    endpoint: EndpointSettings  # the provider's
    watch: DisconnectWatch
    send: Send
    outcome: Outcome = field(default_factory=Outcome, init=False)
    _needs_end: bool = field(default=False, init=False)
    # status, body and headers of an answer that is sent in one piece
    _whole: tuple[int, bytes, Headers] | None = field(default=None, init=False)

    async def give(self, source: ClientSource) -> None:
        """Pass on the request, and everything of the answer but its end."""
        outcome = self.outcome
        try:
            await source.prepared()
            if source.turn is not None and source.turn.response is not None:
                await self._give_text(source.turn.response, source)
            else:
                await self._ask(source)
        except TurnAborted as aborted:
            self._refuse(refused_by_plugin(aborted), source)
        except GatewayError as refused:
            outcome.error, outcome.error_code = str(refused), refused.status
            self._refuse(refused, source)
        except NobodyWaiting:
            # Many clients disconnect as soon as they have the end.
            outcome.is_stopped = not outcome.gathered.is_whole
        if outcome.error_code and not (outcome.error or outcome.gathered.error):
            outcome.error = f"The provider answered with status {outcome.error_code}."

    async def end(self) -> None:
        """End the answer; one that is sent in one piece is sent now."""
        if self._whole is not None:
            await send_whole(self.send, *self._whole)
        elif self._needs_end:
            await end(self.send)

    def _refuse(self, error: GatewayError, source: ClientSource) -> None:
        self._whole = (error.status, error.body(), source.headers())

    async def _give_text(self, text: str, source: ClientSource) -> None:
        self.outcome.gathered.first.texts.append(text)
        self.outcome.gathered.is_whole = bool(text)
        await give_text(text, self.incoming, self.watch, self.send, source.headers())

    async def _ask(self, source: ClientSource) -> None:
        call = ProviderCall(
            endpoint=self.endpoint,
            method="POST",
            path=PATHS[self.incoming.kind],
            headers=self.incoming.headers,
        )
        answers: list[ProviderAnswer] = []

        async def ask(sent: Outgoing) -> None:
            for refused in answers:
                await refused.aclose()
            body = self.incoming.body.encoded(sent.text)
            answers.append(await self.upstream.send(replace(call, body=body)))
            await _raise_refusal(answers[-1], call)

        try:
            with suppress(ModelFailed):  # the provider's words are passed on
                await self.watch.during(source.request.asked(ask))
            await self._pass_on(answers[-1], source)
        finally:
            for answer in answers:
                await answer.aclose()  # even if nothing was read of it

    async def _pass_on(self, answer: ProviderAnswer, source: ClientSource) -> None:
        self.outcome.error_code = answer.status if answer.status >= _ERROR else 0
        if answer.status == _NOT_FOUND and self.incoming.kind == "responses":
            body = await read_all(answer, MAX_SHORT_BYTES)
            theirs = [pair for pair in answer.headers if pair[0] not in _OF_THE_BODY]
            headers = [*theirs, *source.headers()]
            self._whole = (_NOT_FOUND, with_hint(body, _NO_RESPONSES), headers)
            return
        relay = Relay(answer, source.headers(), source.arrived, source.ends)
        self.outcome.gathered = relay.gathered
        self._needs_end = await self.watch.during(relay.run(self.send))
        self.outcome.error = relay.error


async def _raise_refusal(answer: ProviderAnswer, call: ProviderCall) -> None:
    """Raise `ModelFailed` if an answer refuses the request, and may say why."""
    if answer.failure is not None and answer.status in _MAY_SAY_WHY:
        failure = replace(answer.failure, words=await answer.words())
        raise explained(failure, call.endpoint, call.kind)


async def send_whole(send: Send, status: int, body: bytes, headers: Headers) -> None:
    """Send a JSON answer as one body."""
    every = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*every, *headers]})
    await send({"type": "http.response.body", "body": body})
