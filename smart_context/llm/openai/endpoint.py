"""One model at one endpoint: sends requests, reads the answers, and explains failures."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any, Literal, TypeVar

from smart_context.base.config import EndpointSettings
from smart_context.base.errors import ModelFailed
from smart_context.llm.failures import EndpointFailure, ModelKind, RequestFailed, explained
from smart_context.llm.openai.connection import EndpointClient, bounded, check_success, decoded

T = TypeVar("T")
Route = Literal["/chat/completions", "/embeddings", "/models"]
Body = Mapping[str, Any]

LARGEST_BODY = 2 << 20
"""The most bytes of an answer that is read whole; parsing them takes at most 0.1 s."""

_LARGEST_STREAM = 256 << 20
"""The most bytes of a stream; its text is limited further where it is read."""

_PATIENCE = 10

_OPTIONAL: Mapping[str, tuple[str, ...]] = {
    "stream_options": ("stream_options", "include_usage"),
    "response_format": ("response_format", "json_object", "json mode"),
    "encoding_format": ("encoding_format", "base64"),
}
"""Optional fields of a request, and how a refusal names them."""

_INSTEAD: Body = {"encoding_format": "float"}
"""Sent in place of a refused field."""

_HEADERS = {
    "accept": "application/json",
    "accept-encoding": "gzip, deflate",
    "authorization": "Bearer not-needed",  # unless there is a key: some local servers want one
    "content-type": "application/json",
}


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

    @property
    def patience_s(self) -> float:
        """How long an endpoint may keep the connection open without an answer."""
        return _PATIENCE * self.settings.timeout_s

    async def fetch(self, route: Route, body: Body, *, most_bytes: int = LARGEST_BODY) -> bytes:
        """The whole body of the answer.

        Raises:
            RequestFailed: If the last attempt fails, or a retry would not help.
        """

        async def attempt(stack: AsyncExitStack, body: Body) -> bytes:
            whole = bytearray()
            chunks = await self._open(stack, route, body, most_bytes)
            async with _until(self.patience_s):
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
        self._refused_fields |= unknown
        return bool(unknown)

    async def _open(
        self, stack: AsyncExitStack, route: Route, body: Body, most_bytes: int
    ) -> AsyncIterator[bytes]:
        method = "GET" if route == "/models" else "POST"
        content = b"" if route == "/models" else await asyncio.to_thread(_encoded, body)
        response = await self._client.send(
            self.settings, method, route, content=content, headers=_HEADERS
        )
        stack.push_async_callback(response.aclose)
        await check_success(response, self.settings.timeout_s)
        chunks = bounded(decoded(response), most_bytes)
        return await stack.enter_async_context(aclosing(chunks))


@asynccontextmanager
async def _until(seconds: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise RequestFailed(EndpointFailure(trouble="slow")) from None


def _encoded(body: Body) -> bytes:
    """A body as JSON; text that UTF-8 can't hold is escaped."""
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":"), default=dict).encode()
    except UnicodeEncodeError:
        return json.dumps(body, default=dict).encode()
