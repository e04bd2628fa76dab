"""One model at one endpoint: sends requests, again where that helps, and explains failures.

`openai` takes half a second to import, so it is imported in a thread when first used. Its own
retries are off: ours are those of contract A4.
"""

import asyncio
import importlib
import ipaddress
import logging
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from urllib.parse import urlsplit

from smart_context.config import EndpointSettings
from smart_context.errors import ModelFailed
from smart_context.llm.failures import (
    Failure,
    ModelKind,
    explained,
    is_address,
    parsed_error,
    system_words,
)
from smart_context.llm.retries import retry_after_s, wait_s

if TYPE_CHECKING:
    import openai

T = TypeVar("T")
Route = Literal["chat", "embeddings"]
Sleep = Callable[[float], Awaitable[None]]
Body = Mapping[str, Any]

_LOG = logging.getLogger(__name__)
_CONNECT_S = 10.0
_NO_KEY = "not-needed"
_LARGEST_ANSWER = 200_000_000
_OPTIONAL: Mapping[str, tuple[str, ...]] = {
    "stream_options": ("stream_options", "include_usage"),
    "response_format": ("response_format", "json_object", "json mode"),
    "encoding_format": ("encoding_format", "base64"),
}
"""Fields that an answer is possible without, and how a refusal names them."""

_INSTEAD: Body = {"encoding_format": "float"}
"""What is sent in place of a refused field; the library would fill in what is left out."""


class RequestFailed(Exception):
    """A request came to nothing; `failure` says how."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure
        super().__init__(failure.trouble)


class Endpoint:
    """The connection to one model.

    Args:
        settings: Where the model is and how patient to be.
        kind: What to call it in errors.
        sleep: Waits between requests.
        jitter: A number in [0, 1), drawn for each wait.
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

    async def fetch(self, route: Route, body: Body) -> bytes:
        """The whole body of the answer.

        Raises:
            RequestFailed: When all attempts are used up, or another would not help.
        """

        async def attempt(stack: AsyncExitStack, body: Body) -> bytes:
            chunks = await self._open(stack, route, body)
            return b"".join([chunk async for chunk in _bounded(chunks)])

        async with AsyncExitStack() as stack:
            return await self._persist(stack, attempt, body)

    @asynccontextmanager
    async def stream(self, body: Body) -> AsyncIterator[AsyncIterator[bytes]]:
        """The answer's bytes as they come; leaving the context closes the connection.

        Once an answer has begun nothing is retried.

        Raises:
            RequestFailed: As `fetch` does, and while iterating.
        """

        async def attempt(stack: AsyncExitStack, body: Body) -> AsyncIterator[bytes]:
            return await self._open(stack, "chat", body)

        async with AsyncExitStack() as stack:
            yield await self._persist(stack, attempt, body)

    def explained(self, failure: Failure) -> ModelFailed:
        """The error to show to a person."""
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
            sent = self._accepted(body)
            try:
                return await attempt(stack, sent)
            except RequestFailed as error:
                await stack.aclose()
                if self._takes_back(error.failure, sent):
                    continue
                wait = self._wait_s(error.failure, retries)
                if wait is None:
                    raise
                _LOG.info("%s: asking again in %.1f s (%s)", self.settings.model, wait, error)
            await self._sleep(wait)
            retries += 1

    def _accepted(self, body: Body) -> Body:
        known = {key: body[key] for key in body if key not in self._refused_fields}
        refused = body.keys() & self._refused_fields & _INSTEAD.keys()
        return known | {key: _INSTEAD[key] for key in refused}

    def _wait_s(self, failure: Failure, retries: int) -> float | None:
        return wait_s(
            failure,
            retries=retries,
            max_retries=self.settings.max_retries,
            jitter=self._jitter(),
        )

    def _takes_back(self, failure: Failure, sent: Body) -> bool:
        """Leave out, from now on, an optional field that the endpoint says it does not know."""
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

    async def _open(self, stack: AsyncExitStack, route: Route, body: Body) -> AsyncIterator[bytes]:
        client = await self._connected()
        try:
            response = await stack.enter_async_context(_request(client, route, body))
        except _library().APIError as error:
            raise RequestFailed(_failure(error)) from None
        chunks = _chunks(response.iter_bytes())
        return await stack.enter_async_context(aclosing(chunks))

    async def _connected(self) -> "openai.AsyncOpenAI":
        if not is_address(self.settings.base_url):
            words = "base_url is not a web address"
            raise RequestFailed(Failure(trouble="unreachable", words=words))
        key = self.settings.api_key
        if key and not (key.isascii() and key.isprintable()):
            words = "its key holds characters that can't be sent, such as a line break"
            raise RequestFailed(Failure(trouble="unusable key", words=words))
        async with self._connecting:
            if self._client is None:
                self._client = await asyncio.to_thread(_client, self.settings)
            return self._client


def _library() -> Any:
    return importlib.import_module("openai")


def _client(settings: EndpointSettings) -> "openai.AsyncOpenAI":
    library = _library()
    timeout = library.Timeout(settings.timeout_s, connect=min(_CONNECT_S, settings.timeout_s))
    # A proxy of the environment is no way to a server on this machine.
    near = library.DefaultAsyncHttpxClient(trust_env=False, timeout=timeout)
    client: openai.AsyncOpenAI = library.AsyncOpenAI(
        base_url=settings.base_url,
        api_key=settings.api_key or _NO_KEY,
        timeout=timeout,
        max_retries=0,
        http_client=near if _is_loopback(settings.base_url) else None,
    )
    return client


def _is_loopback(base_url: str) -> bool:
    host = urlsplit(base_url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _request(
    client: "openai.AsyncOpenAI", route: Route, body: Body
) -> AbstractAsyncContextManager[Any]:
    if route == "embeddings":
        given = body
        create: Any = client.embeddings.with_streaming_response.create
    else:
        # The library looks into each message for things to convert, 0.1 ms apiece; as an extra
        # field they go as they are.
        given = {**body, "messages": [], "extra_body": {"messages": body["messages"]}}
        create = client.chat.completions.with_streaming_response.create
    opened: AbstractAsyncContextManager[Any] = create(**given)
    return opened


async def _chunks(source: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    while True:
        try:
            chunk = await anext(source)
        except StopAsyncIteration:
            return
        except Exception as error:  # noqa: BLE001 - of httpx or httpx2, whichever openai brought
            raise RequestFailed(_interrupted(error)) from None
        yield chunk


async def _bounded(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > _LARGEST_ANSWER:
            raise RequestFailed(Failure(trouble="nonsense", words=f"more than {size} bytes"))
        yield chunk


def _failure(error: Exception) -> Failure:
    """What an exception of `openai` means."""
    response = getattr(error, "response", None)
    if response is not None:
        return Failure(
            trouble="refused",
            words=parsed_error(getattr(error, "body", None)),
            status=response.status_code,
            retry_after_s=retry_after_s(response.headers, datetime.now(UTC)),
        )
    return _interrupted(error.__cause__ if isinstance(error.__cause__, Exception) else error)


def _interrupted(error: Exception) -> Failure:
    """What an exception of the HTTP library means; `openai` brings one of two with equal names."""
    name = type(error).__name__
    if name in {"ConnectError", "ConnectTimeout", "InvalidURL", "UnsupportedProtocol"}:
        return Failure(trouble="unreachable", words=system_words(error))
    if "Timeout" in name:
        return Failure(trouble="slow")
    return Failure(trouble="broken", words=str(error))
