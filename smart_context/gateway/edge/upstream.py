"""The connection to a provider; bytes pass unchanged in both directions."""

import asyncio
import importlib
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any

from smart_context import __version__
from smart_context.base.config import EndpointSettings
from smart_context.gateway.edge.errors import GatewayError
from smart_context.gateway.edge.passed_headers import passed_headers
from smart_context.llm.failures import EndpointFailure, ModelKind, explained, is_address
from smart_context.llm.openai.connection import CONNECT_S, interrupted, is_loopback, verification
from smart_context.llm.openai.retries import retry_after_s, wait_s

if TYPE_CHECKING:
    import httpx

_FORWARDED = ("accept", "content-type", "openai-beta", "idempotency-key")
_ERROR = 400
_REDIRECTS = range(300, 400)

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request to a provider.

    Attributes:
        endpoint: Where it goes.
        method: The HTTP method.
        path: Below the base URL, with a query if there is one: `/chat/completions`.
        body: What is sent.
        headers: The client's headers, by lower-case name.
        kind: The name of the model's category in errors.
    """

    endpoint: EndpointSettings
    method: str
    path: str
    body: bytes = b""
    headers: Mapping[str, str]
    kind: ModelKind = "chat model"


class Answer:
    """A provider's answer whose status and headers have arrived.

    Attributes:
        status: The HTTP status.
        headers: The headers to pass on, in order.
        failure: Why it counts as failed; `None` if it does not.
        encoding: How the body is compressed; empty if it is not.
        is_stream: Its body is server-sent events.
    """

    def __init__(self, call: Call, response: "httpx.Response", closing: AsyncExitStack) -> None:
        self.status: int = response.status_code
        self.headers = passed_headers(response.headers.raw, call.endpoint.api_key)
        self.failure = _failure_of(response.status_code, response.headers)
        self.encoding: str = response.headers.get("content-encoding", "")
        self.is_stream = "text/event-stream" in response.headers.get("content-type", "")
        self._call = call
        self._response = response
        self._closing = closing

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body's bytes as they arrive.

        Raises:
            GatewayError: If the connection breaks.
        """
        try:
            async for chunk in self._response.aiter_raw():
                if chunk:
                    yield chunk
        except _http_error() as error:
            raise _refused(self._call, interrupted(error, has_begun=True)) from None

    async def aclose(self) -> None:
        """Close the connection, which ends the request."""
        await self._closing.aclose()


class Upstream:
    """The connections to providers.

    Args:
        sleep: Waits between attempts.
        jitter: A number in [0, 1), drawn for each wait.
    """

    def __init__(
        self,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._sleep = sleep
        self._jitter = jitter
        self._clients: dict[tuple[bool, bool], httpx.AsyncClient] = {}
        self._connecting = asyncio.Lock()

    async def send(self, call: Call) -> Answer:
        """Send a request, with retries where they help; the body is not read yet.

        Raises:
            GatewayError: If the provider can't be reached, or redirects.
        """
        retries = 0
        while True:
            answer, failure = await self._attempt(call)
            if answer is not None and failure is None:
                return answer
            failure = failure or EndpointFailure(trouble="broken")
            wait = wait_s(
                failure,
                retries=retries,
                max_retries=call.endpoint.max_retries,
                jitter=self._jitter(),
            )
            if answer is not None and wait is None and failure.trouble == "refused":
                return answer
            if answer is not None:
                await answer.aclose()
            if wait is None:
                raise _refused(call, failure)
            _logger.info("%s: asking again in %.1f s", call.endpoint.base_url, wait)
            await self._sleep(wait)
            retries += 1

    async def aclose(self) -> None:
        """Close idle connections."""
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()

    async def _attempt(self, call: Call) -> tuple[Answer | None, EndpointFailure | None]:
        try:
            answer = await self._asked(call)
        except _http_error() as error:
            return None, interrupted(error, has_begun=False)
        return answer, answer.failure

    async def _asked(self, call: Call) -> Answer:
        endpoint = call.endpoint
        if not is_address(endpoint.base_url):
            words = "base_url is not a web address"
            raise _refused(call, EndpointFailure(trouble="unreachable", words=words))
        client = await self._client(endpoint.base_url)
        library: Any = importlib.import_module("httpx")
        request = client.build_request(
            call.method,
            f"{endpoint.base_url}{call.path}",
            content=call.body or None,
            headers=library.Headers(_headers(call), encoding="latin-1"),  # as they were read
            timeout=library.Timeout(
                endpoint.timeout_s, connect=min(CONNECT_S, endpoint.timeout_s), pool=None
            ),
        )
        closing = AsyncExitStack()
        response = await client.send(request, stream=True)
        closing.push_async_callback(response.aclose)
        return Answer(call, response, closing)

    async def _client(self, base_url: str) -> "httpx.AsyncClient":
        kind = is_loopback(base_url), base_url.startswith("http:")
        async with self._connecting:
            if kind not in self._clients:
                self._clients[kind] = await asyncio.to_thread(_make_client, base_url)
            return self._clients[kind]


def _make_client(base_url: str) -> "httpx.AsyncClient":
    """A client of httpx, which takes a tenth of a second to import."""
    library: Any = importlib.import_module("httpx")
    client: httpx.AsyncClient = library.AsyncClient(
        follow_redirects=False,
        trust_env=not is_loopback(base_url),  # the environment's proxy can't reach this machine
        verify=verification(base_url),
        limits=library.Limits(max_connections=None, max_keepalive_connections=20),
        headers={"User-Agent": f"smart-context/{__version__}"},
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),  # keeps none
    )
    return client


def _http_error() -> tuple[type[Exception], ...]:
    library: Any = importlib.import_module("httpx")
    return (library.HTTPError, library.InvalidURL, library.StreamError)


def _headers(call: Call) -> dict[str, str]:
    """The headers to send: the key of the settings, and those that describe the body."""
    headers = {name: call.headers[name] for name in _FORWARDED if name in call.headers}
    headers["accept-encoding"] = "identity"
    if key := call.endpoint.api_key:
        if not (key.isascii() and key.isprintable()):
            words = "its key holds characters that can't be sent, such as a line break"
            raise _refused(call, EndpointFailure(trouble="unusable key", words=words))
        headers["authorization"] = f"Bearer {key}"
    return headers


def _failure_of(status: int, headers: Mapping[str, str]) -> EndpointFailure | None:
    """Why an answer counts as failed; `None` if it does not."""
    if status in _REDIRECTS:
        words = ascii(headers.get("location", ""))[1:-1]
        return EndpointFailure(trouble="redirected", words=words, status=status)
    if status < _ERROR:
        return None
    wait = retry_after_s(headers, datetime.now(UTC))
    return EndpointFailure(trouble="refused", status=status, retry_after_s=wait)


def _refused(call: Call, failure: EndpointFailure) -> GatewayError:
    is_late = failure.trouble in {"slow", "stalled"}
    status = 504 if is_late else 502
    code = "provider_timeout" if is_late else "provider_unreachable"
    return GatewayError(status, str(explained(failure, call.endpoint, call.kind)), code=code)
