"""One model at one endpoint: sends requests, retries them, and explains failures.

The retries of `openai` are off: ours know when a retry helps.
"""

import asyncio
import importlib
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from smart_context.base.config import EndpointSettings
from smart_context.base.errors import ModelFailed
from smart_context.llm.failures import (
    EndpointFailure,
    ModelKind,
    RequestFailed,
    explained,
    is_address,
)
from smart_context.llm.openai.connection import bounded, interrupted, make_client
from smart_context.llm.openai.retries import wait_s

if TYPE_CHECKING:
    import openai

T = TypeVar("T")
Route = Literal["chat", "embeddings", "models"]
Sleep = Callable[[float], Awaitable[None]]
Body = Mapping[str, Any]

_LOG = logging.getLogger(__name__)
LARGEST_BODY = 2 << 20
"""The most bytes of an answer that is read whole; parsing them takes at most 0.1 s."""

_LARGEST_STREAM = 256 << 20
"""The most bytes of a stream; its text is limited further where it is read."""

_PATIENCE = 10
_UPLOAD_AND_WAIT = 2
"""An answer may take this many times `timeout_s` to begin: the request is uploaded first."""

_OPTIONAL: Mapping[str, tuple[str, ...]] = {
    "stream_options": ("stream_options", "include_usage"),
    "response_format": ("response_format", "json_object", "json mode"),
    "encoding_format": ("encoding_format", "base64"),
}
"""Optional fields of a request, and how a refusal names them."""

_INSTEAD: Body = {"encoding_format": "float"}
"""Sent in place of a refused field; the library would fill in a missing one."""


class Endpoint:
    """The connection to one model.

    Args:
        settings: The model's address, key and timeout.
        sleep: Waits between requests.
        jitter: Gives a number in [0, 1) for each wait.
    """

    def __init__(
        self,
        settings: EndpointSettings,
        kind: ModelKind,
        *,
        sleep: Sleep = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.settings = settings
        self._kind = kind
        self._sleep = sleep
        self._jitter = jitter
        self._client: openai.AsyncOpenAI | None = None
        self._connecting = asyncio.Lock()
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
            return await self._open(stack, "chat", body, _LARGEST_STREAM)

        async with AsyncExitStack() as stack:
            yield await self._persist(stack, attempt, body)

    def explained(self, failure: EndpointFailure) -> ModelFailed:
        """The error to show to the user."""
        return explained(failure, self.settings, self._kind)

    async def aclose(self) -> None:
        """Close idle connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _persist(
        self,
        stack: AsyncExitStack,
        attempt: Callable[[AsyncExitStack, Body], Awaitable[T]],
        body: Body,
    ) -> T:
        retries = 0
        while True:
            sent = self.accepted(body)
            try:
                return await attempt(stack, sent)
            except RequestFailed as error:
                await stack.aclose()
                if self._takes_back(error.failure, sent):
                    continue
                wait = wait_s(
                    error.failure,
                    retries=retries,
                    max_retries=self.settings.max_retries,
                    jitter=self._jitter(),
                )
                if wait is None:
                    raise
                trouble = error.failure.trouble
                _LOG.info("%s: asking again in %.1f s (%s)", self.settings.model, wait, trouble)
            await self._sleep(wait)
            retries += 1

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
        client = await self._connected()
        try:
            async with _until(_UPLOAD_AND_WAIT * self.settings.timeout_s):
                response = await stack.enter_async_context(_request(client, route, body))
        except _api_error() as error:
            raise RequestFailed(_failure(error)) from None
        chunks = bounded(response.iter_bytes(), most_bytes)
        return await stack.enter_async_context(aclosing(chunks))

    async def _connected(self) -> "openai.AsyncOpenAI":
        if not is_address(self.settings.base_url):
            words = "base_url is not a web address"
            raise RequestFailed(EndpointFailure(trouble="unreachable", words=words))
        key = self.settings.api_key
        if key and not (key.isascii() and key.isprintable()):
            words = "its key holds characters that can't be sent, such as a line break"
            raise RequestFailed(EndpointFailure(trouble="unusable key", words=words))
        async with self._connecting:
            if self._client is None:
                self._client = await asyncio.to_thread(make_client, self.settings)
            return self._client


@asynccontextmanager
async def _until(seconds: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise RequestFailed(EndpointFailure(trouble="slow")) from None


def _api_error() -> type[Exception]:
    kind: type[Exception] = importlib.import_module("openai").APIError
    return kind


def _request(
    client: "openai.AsyncOpenAI", route: Route, body: Body
) -> AbstractAsyncContextManager[Any]:
    create: Any
    given: Body = {}
    if route == "models":
        create = client.models.with_streaming_response.list
    elif route == "embeddings":
        given = body
        create = client.embeddings.with_streaming_response.create
    else:
        # The library inspects each message, 0.1 ms apiece; an extra field is passed on unread.
        given = {**body, "messages": [], "extra_body": {"messages": body["messages"]}}
        create = client.chat.completions.with_streaming_response.create
    opened: AbstractAsyncContextManager[Any] = create(**given)
    return opened


def _failure(error: Exception) -> EndpointFailure:
    """The failure behind an exception of `openai`; some versions wrap ours."""
    cause = error.__cause__
    if isinstance(cause, RequestFailed):
        return cause.failure
    return interrupted(cause if isinstance(cause, Exception) else error, has_begun=False)
