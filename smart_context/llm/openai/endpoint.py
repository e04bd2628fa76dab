"""One model at one endpoint: sends requests, reads the answers, and explains failures."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from typing import Any, Literal, TypeVar

from smart_context.base.config import EndpointSettings
from smart_context.base.errors import ModelFailed
from smart_context.base.text.names import storable
from smart_context.llm.failures import EndpointFailure, ModelKind, RequestFailed, explained
from smart_context.llm.openai.connection import EndpointClient, bounded, decoded

T = TypeVar("T")
Route = Literal["/chat/completions", "/embeddings", "/models"]
Body = Mapping[str, Any]

LARGEST_BODY = 2 << 20
"""The most bytes of an answer that is not streamed; parsing them takes at most 0.1 s."""

_LARGEST_STREAM = 256 << 20
"""The most bytes of a stream; its text is limited further where it is read."""

_OPTIONAL: Mapping[str, tuple[str, ...]] = {
    "stream_options": ("stream_options", "include_usage"),
    "response_format": (
        *("response_format", "response format", "json_object", "json mode"),
        *("json_schema", "schema", "grammar"),
    ),
    "temperature": ("temperature",),
    "encoding_format": ("encoding_format", "base64"),
    "return_progress": ("return_progress",),
}
"""Optional fields of a request, with their names in refusals."""

_INSTEAD: Body = {"encoding_format": "float"}
"""Sent in place of a refused field."""

SCHEMA = "json_schema"
ANY_OBJECT: Body = {"type": "json_object"}
"""The reply format that is asked for if a schema is refused."""


class Endpoint:
    """Asks one model.

    Args:
        settings: The model's address, key and timeout.
        client: The HTTP client that the models of a vault share; by default one of its own.
    """

    def __init__(
        self, settings: EndpointSettings, kind: ModelKind, client: EndpointClient | None = None
    ) -> None:
        self.settings = settings
        self._kind = kind
        self._client = client or EndpointClient()
        self._refused_fields: set[str] = set()

    async def fetch(self, route: Route, body: Body, *, most_bytes: int = LARGEST_BODY) -> bytes:
        """The whole body of the answer.

        Raises:
            RequestFailed: If the last attempt fails, or a retry would not help.
        """

        async def attempt(stack: AsyncExitStack, body: Body) -> bytes:
            whole = bytearray()
            chunks = await self._open(stack, route, body, most_bytes)
            async with _until(self.settings.patience_s):
                async for chunk in chunks:
                    whole += chunk
            return bytes(whole)

        async with AsyncExitStack() as stack:
            return await self._persist(stack, attempt, body)

    @asynccontextmanager
    async def stream(self, body: Body) -> AsyncIterator[AsyncIterator[bytes]]:
        """The answer's bytes as they arrive; leaving the context closes the connection.

        Nothing is retried once an answer has begun.

        Raises:
            RequestFailed: As `fetch`, and while iterating.
        """

        async def attempt(stack: AsyncExitStack, body: Body) -> AsyncIterator[bytes]:
            return await self._open(stack, "/chat/completions", body, _LARGEST_STREAM)

        async with AsyncExitStack() as stack:
            yield await self._persist(stack, attempt, body)

    def explained(self, failure: EndpointFailure) -> ModelFailed:
        """The error to show to the user."""
        return explained(failure, self.settings, self._kind)

    @property
    def tells_progress(self) -> bool:
        """True if the server is known to report its reading progress on request."""
        return self._client.programs.get(self.settings.base_url) == "llama.cpp"

    def ahead(self) -> AbstractAsyncContextManager[None]:
        """A block whose requests go before those of the background."""
        return self._client.traffic.of_person(self.settings.base_url)

    async def in_order(self, ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of a request; background requests give way to those of persons.

        See `Traffic.in_order`.
        """
        return await self._client.traffic.in_order(self.settings.base_url, ask)

    async def aclose(self) -> None:
        """Close the client's connections; it makes new ones if others go on asking."""
        await self._client.aclose()

    async def _persist(
        self,
        stack: AsyncExitStack,
        attempt: Callable[[AsyncExitStack, Body], Awaitable[T]],
        body: Body,
    ) -> T:
        async def accepted() -> T:
            while True:
                sent = self.accepted(body)
                try:
                    return await attempt(stack, sent)
                except RequestFailed as error:
                    await stack.aclose()
                    if not self._takes_back(error.failure, sent):
                        raise

        return await self._client.persist(accepted, self.settings, stack.aclose)

    def accepted(self, body: Body) -> Body:
        """A body without the optional fields that the endpoint has refused."""
        known = {key: body[key] for key in body if key not in self._refused_fields}
        if SCHEMA in self._refused_fields and _asks_by_schema(known):
            known["response_format"] = ANY_OBJECT
        refused = body.keys() & self._refused_fields & _INSTEAD.keys()
        return known | {key: _INSTEAD[key] for key in refused}

    def _takes_back(self, failure: EndpointFailure, sent: Body) -> bool:
        """Stop sending optional fields that the endpoint refuses; True if there are any."""
        if failure.status not in {400, 422}:
            return False
        words = failure.words.lower()
        unknown = {
            field
            for field, names in _OPTIONAL.items()
            if field in sent.keys() - self._refused_fields and any(name in words for name in names)
        }
        if "response_format" in unknown and _asks_by_schema(sent):
            unknown = unknown - {"response_format"} | {SCHEMA}
        self._refused_fields |= unknown
        return bool(unknown)

    async def _open(
        self, stack: AsyncExitStack, route: Route, body: Body, most_bytes: int
    ) -> AsyncIterator[bytes]:
        content = None if route == "/models" else await asyncio.to_thread(_encoded, body)
        response = await self._client.ask(self.settings, route, content)
        stack.push_async_callback(response.aclose)
        chunks = bounded(decoded(response), most_bytes)
        return await stack.enter_async_context(aclosing(chunks))


def _asks_by_schema(body: Body) -> bool:
    return bool(body.get("response_format", {}).get("type") == SCHEMA)


@asynccontextmanager
async def _until(seconds: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise RequestFailed(EndpointFailure(trouble="slow", waited_s=seconds)) from None


def _encoded(body: Body) -> bytes:
    """A body as JSON; lone surrogates, which UTF-8 can't hold, are replaced."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), default=dict)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return storable(text).encode()
