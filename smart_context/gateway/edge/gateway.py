"""The routes under /v1."""

import asyncio
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, Protocol

from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from smart_context.base.errors import ChatIdInvalid, SmartContextError, StorageAway
from smart_context.base.threads import beside
from smart_context.base.values import PersonId
from smart_context.gateway.connecting import Activity
from smart_context.gateway.edge.errors import GatewayError
from smart_context.gateway.edge.models import MODELS_S, ListedModels, embedded_vectors, endpoint_for
from smart_context.gateway.edge.own_answers import OfflineSink, OwnAnswers
from smart_context.gateway.edge.paths import PATHS, of_a_response, path_of, response_in
from smart_context.gateway.edge.provided import ProviderSink
from smart_context.gateway.edge.receiving import (
    ClientGone,
    DisconnectWatch,
    NobodyWaiting,
    headers_of,
    read_bytes,
)
from smart_context.gateway.edge.relay import Relay, end
from smart_context.gateway.edge.upstream import ProviderCall, Upstream
from smart_context.gateway.requests.body import BodyRefused, BodyTooLong, read_body
from smart_context.gateway.requests.outgoing import ApiKind
from smart_context.gateway.turns.client_source import AnswerSink, ClientChats, ClientSource
from smart_context.gateway.turns.document import MessageKeys, RequestRecorder
from smart_context.gateway.turns.finding import ChatFinder, ChatOfRequest
from smart_context.gateway.turns.incoming import Incoming, held_things
from smart_context.gateway.turns.reading import RecentLists, read_incoming, with_model
from smart_context.gateway.turns.saving import PendingSaves
from smart_context.host.access import OwnedName, unknown
from smart_context.host.commands.registry import Caller
from smart_context.host.host import Host
from smart_context.llm.echoes import RepeatedKeys
from smart_context.llm.openai.connection import EndpointClient

STOP_S = 1.0
OWN_CHAT = "chat:"

_IN_THREAD_BYTES = 64 << 10
_NOT_FOUND, _NOT_ALLOWED, _TOO_LARGE = 404, 405, 413


class ClientIdentity(Protocol):
    """The identity that the gate gave to a request."""

    @property
    def person(self) -> PersonId:
        """The person whose key the request has."""

    @property
    def key(self) -> str:
        """The name of the key."""


AdmissionOf = Callable[[Scope], ClientIdentity]


class Gateway:
    """Answers clients of the API.

    Attributes:
        activity: The clients and their requests.
    """

    def __init__(
        self,
        host: Host,
        chats_of: Callable[[PersonId], ClientChats],
        admitted: AdmissionOf,
        upstream: Upstream,
        *,
        models_s: float = MODELS_S,
    ) -> None:
        self._host = host
        self._chats_of = chats_of
        self._admitted = admitted
        self._upstream = upstream
        self._models = ListedModels(lambda: host.config, host.offers, self._upstream, models_s)
        self._own = OwnAnswers(host)
        self._recent = RecentLists()
        self.activity = Activity()
        self._stopping = asyncio.Event()
        self._running: set[asyncio.Task[Any]] = set()

    def routes(self) -> list[BaseRoute]:
        """The routes, which answer all methods."""
        return [Route("/v1", self), Route("/v1/{path:path}", self)]

    async def close(self) -> None:
        """End the running answers, and save the parts that have arrived."""
        self._stopping.set()
        if self._running:
            await asyncio.wait(self._running, timeout=STOP_S)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}  # the server leaves out the body
        task = asyncio.current_task()
        if task is not None:
            self._running.add(task)
        try:
            answer = await self._answer(scope, receive, send)
        except (GatewayError, BodyRefused, SmartContextError) as error:
            answer = _explained(error).response()
        except (ClientGone, NobodyWaiting):
            return
        finally:
            if task is not None:
                self._running.discard(task)
        if answer is not None:
            await answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> Response | None:
        method, path, headers = scope["method"], path_of(scope), headers_of(scope)
        for kind, known in PATHS.items():
            if path == known and method == "POST":
                raw = await read_bytes(receive)
                await self._exchange(kind, raw, headers, self._admitted(scope), receive, send)
                return None
        if path == "/models" and method == "GET":
            return await self._models.all()
        if path.startswith("/models/") and method == "GET":
            return await self._models.one(path.removeprefix("/models/"))
        if path == "/embeddings" and method == "POST":
            return await self._embeddings(headers, receive, send)
        if of_a_response(path) and method in {"GET", "POST", "DELETE"}:
            await self._pass_on(scope, path, headers, self._admitted(scope), receive, send)
            return None
        there = (*PATHS.values(), "/models", "/embeddings")
        if path in there:
            raise GatewayError(_NOT_ALLOWED, f"{method} is not possible at /v1{path}.")
        hint = " The base URL ends in /v1; clients add the rest." if path.endswith(there) else ""
        raise GatewayError(
            _NOT_FOUND, f"There is nothing at {method} /v1{path}.{hint}", code="unknown_url"
        )

    async def _exchange(
        self,
        kind: ApiKind,
        raw: bytes,
        headers: Mapping[str, str],
        let_in: ClientIdentity,
        receive: Receive,
        send: Send,
    ) -> None:
        key, caller, echoes = let_in.key, Caller(let_in.person), self._echoes()
        incoming = await self._read(kind, raw, headers, key, echoes)
        chats = self._chats_of(caller.person)
        if self._host.access.has_people:
            await _check_held(chats.finder, key, *_held_by_provider(incoming))
        watch = DisconnectWatch(receive, self._stopping)
        try:
            if incoming.model.startswith(OWN_CHAT):
                await self._own.of_chat(caller, incoming, watch, send)
                return
            endpoint = await endpoint_for(self._host.config, self._host.offers, incoming.model)
            if endpoint is not None and incoming.model not in {"", endpoint.model}:
                incoming = await asyncio.to_thread(with_model, incoming, endpoint.model)
            chat = await self._chat_of(caller, chats, incoming)
            asked = self.activity.asked(key, incoming.client, chat.id if chat else "")
            sink: AnswerSink = (
                OfflineSink(self._host.models.chat, incoming, watch, send)
                if endpoint is None
                else ProviderSink(self._upstream, incoming, endpoint, watch, send)
            )
            source = ClientSource(
                self._host.turns,
                chats,
                incoming,
                chat,
                person=caller.person,
                endpoint=endpoint,
                model=endpoint.model if endpoint else incoming.model or self._host.models.chat.name,
                echoes=echoes,
                sink=sink,
            )
            await source.run()
            if source.turn is not None:
                asked.error = source.turn.error
        finally:
            watch.close()

    def _echoes(self) -> RepeatedKeys:
        """The keys that are sent to providers, to be removed from their answers."""
        return RepeatedKeys(endpoint.api_key for endpoint in self._host.config.endpoints)

    async def _read(
        self, kind: ApiKind, raw: bytes, headers: Mapping[str, str], key: str, echoes: RepeatedKeys
    ) -> Incoming:
        read = partial(read_incoming, kind, raw, headers, key, self._recent, echoes)
        incoming = await beside(read, is_long=len(raw) > _IN_THREAD_BYTES)
        self._recent.remember(incoming)
        return incoming

    async def _chat_of(
        self, caller: Caller, chats: ClientChats, incoming: Incoming
    ) -> ChatOfRequest | None:
        await chats.pending_saves.settled(incoming.key)
        found = await chats.finder.chat_of(incoming)
        if found is not None and not await self._host.reading.may_continue(caller, found.id):
            raise GatewayError(_NOT_FOUND, str(unknown(OwnedName("chat", found.name or found.id))))
        if found is not None and not found.is_aside:
            await chats.finder.note_turn(incoming, found)
        return found

    async def _embeddings(
        self, headers: Mapping[str, str], receive: Receive, send: Send
    ) -> Response | None:
        raw = await read_bytes(receive)
        endpoint = self._host.config.embedding
        if endpoint is None:
            return await embedded_vectors(read_body(raw), self._host.models.embedder)
        call = ProviderCall(
            endpoint=endpoint,
            method="POST",
            path="/embeddings",
            body=raw,
            headers=headers,
            kind="embedding model",
        )
        await self._relayed(call, receive, send)
        return None

    async def _pass_on(
        self,
        scope: Scope,
        path: str,
        headers: Mapping[str, str],
        let_in: ClientIdentity,
        receive: Receive,
        send: Send,
    ) -> None:
        endpoint = self._host.config.chat
        if endpoint is None:
            raise GatewayError(_NOT_FOUND, "No provider is configured that could hold responses.")
        raw = await read_bytes(receive)
        if self._host.access.has_people:
            named = response_in(path)
            held = [named] if named else held_things(read_body(raw))
            await _check_held(self._chats_of(let_in.person).finder, let_in.key, *held)
        query = scope.get("query_string", b"").decode("latin-1")
        call = ProviderCall(
            endpoint=endpoint,
            method=scope["method"],
            path=f"{path}?{query}" if query else path,
            body=raw,
            headers=headers,
        )
        await self._relayed(call, receive, send)

    async def _relayed(self, call: ProviderCall, receive: Receive, send: Send) -> None:
        watch = DisconnectWatch(receive, self._stopping)
        try:
            answer = await watch.during(self._upstream.send(call))
            if await watch.during(Relay(answer, []).run(send)):
                await end(send)
        finally:
            watch.close()


MOST_PEOPLE = 256
"""The number of people whose chats of clients are found without reading records again."""


def make_gateway(host: Host, admitted: AdmissionOf, client: EndpointClient) -> Gateway:
    """The gateway of a served host; `client` is the one that the host's models use, too."""
    keys, saves = MessageKeys(), PendingSaves()

    @lru_cache(MOST_PEOPLE)
    def chats_of(person: PersonId) -> ClientChats:
        storage = host.services.storage.for_person(person)
        recorder = RequestRecorder(storage.chats, keys)
        return ClientChats(recorder, ChatFinder(recorder.text_of, storage.logs), saves)

    return Gateway(host, chats_of, admitted, Upstream(client))


async def _check_held(finder: ChatFinder, key: str, *held: str) -> None:
    """Refuse responses and conversations of the provider that this key did not get.

    To the provider all people are one.

    Raises:
        GatewayError: If the key did not get one; the same as if it did not exist.
    """
    for name in held:
        if not await finder.has_got(key, name):
            raise GatewayError(_NOT_FOUND, f"There is no response or conversation {name!r}.")


def _held_by_provider(incoming: Incoming) -> tuple[str, ...]:
    """The ids that the provider continues; in chat completions, `conversation` is the client's."""
    if incoming.kind == "responses":
        return held_things(incoming.body)
    return (incoming.previous_response,) if incoming.previous_response else ()


def _explained(error: Exception) -> GatewayError:
    """The error for the client, from an error in any part of the program."""
    if isinstance(error, GatewayError):
        return error
    if isinstance(error, BodyRefused):
        status = _TOO_LARGE if isinstance(error, BodyTooLong) else 400
        return GatewayError(status, str(error), param=error.param or None)
    if isinstance(error, ChatIdInvalid):
        return GatewayError(400, str(error), param="X-Smart-Context-Chat")
    return GatewayError(503 if isinstance(error, StorageAway) else 500, str(error))
