"""The one HTTP client for endpoints, hardened against hostile ones.

Models are asked by the official SDK, `openai`, over this client; the gateway, which passes bytes
on unread, uses the client alone. No redirect is followed, no header from the environment is sent,
and answers are limited in size and time.

The SDK gets a body as bytes, and its answer is read by `models.py`: building a typed request of
10,000 messages takes it 5 s, and it reads answers more strictly than local servers write them
(docs/architecture.md). It is asked without retries, since those of `persist` are announced and
keep to long waits. Importing it takes half a second, so that happens with the first request, in a
thread.
"""

import asyncio
import importlib
import json
import logging
import random
import ssl
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urljoin, urlsplit, urlunsplit

from smart_context import __version__
from smart_context.base.config import EndpointSettings
from smart_context.base.config.addresses import is_loopback
from smart_context.base.times import utc_stamp
from smart_context.llm.failures import (
    EndpointFailure,
    RequestFailed,
    is_address,
    parsed_error,
    system_words,
)
from smart_context.llm.models import tell_wait
from smart_context.llm.openai.retries import retry_after_s, retry_wait_s
from smart_context.llm.told import Program
from smart_context.llm.traffic import Traffic

T = TypeVar("T")
_logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    import httpx2
    import openai

Sleep = Callable[[float], Awaitable[None]]

_CONNECT_S = 10.0
_IDLE_CONNECTIONS = 20
_LARGEST_ERROR = 64 << 10
_LONGEST_ERROR_S = 5.0
_SLICE = 8 << 10
_MOST_S_AT_A_STRETCH = 0.005
_ENCODINGS = frozenset({"", "identity", "gzip", "deflate"})
"""Encodings that are decoded in steps; others, and nested ones, may explode in a single step."""

_EITHER_HEADER = 16
"""Tells zlib to expect the header of gzip."""

_ROUTES = ("/chat/completions", "/embeddings")
_READ_FIRST = ("/chat/completions", "/responses")
"""The routes on which a slow machine may read for minutes before it answers."""

_AGENT = f"smart-context/{__version__}"
_NO_KEY = "not-needed"
"""The key sent if there is none: some local servers require one."""

_HEADERS = {
    "accept": "application/json",
    "accept-encoding": "gzip, deflate",
    "content-type": "application/json",
    "user-agent": _AGENT,
}
_SENT = frozenset(("host", "connection", "authorization", "content-length", *_HEADERS))
_OF_SDK = "x-stainless-lang"
"""A header of each request that the SDK makes; it is not sent."""

_WRAPPERS = frozenset({"APIConnectionError", "APITimeoutError"})


class EndpointClient:
    """Asks endpoints, again where that helps; all models of a vault and its gateway share one.

    Its connections are pooled for each way in which endpoints are reached.

    Attributes:
        withheld: The addresses to which nothing more is sent, even by requests under way.
        traffic: Lets persons' requests go before those of the background.
        programs: The programs of servers, if known, by the address of their endpoint.
        answered: The times of servers' last answers, as ISO 8601, by the address of the endpoint.
    """

    def __init__(
        self,
        *,
        sleep: Sleep = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
        traffic: Traffic | None = None,
    ) -> None:
        self.withheld: frozenset[str] = frozenset()
        self.traffic = traffic or Traffic()
        self.programs: dict[str, Program] = {}
        self.answered: dict[str, str] = {}
        self._sleep, self._jitter = sleep, jitter
        self._clients: dict[tuple[bool, bool], httpx2.AsyncClient] = {}
        self._connecting = asyncio.Lock()
        self._sdk: type[openai.AsyncOpenAI] | None = None  # once it is imported

    async def persist(
        self,
        attempt: Callable[[], Awaitable[T]],
        settings: EndpointSettings,
        before_waiting: Callable[[], Awaitable[None]],
    ) -> T:
        """The result of the first attempt that succeeds.

        Raises:
            RequestFailed: If the last attempt fails, or a retry would not help.
        """
        retries = 0
        while True:
            try:
                result = await attempt()
            except RequestFailed as error:
                failure = error.failure
                wait = retry_wait_s(
                    failure,
                    retries=retries,
                    max_retries=settings.max_retries,
                    jitter=self._jitter(),
                )
                if wait is None:
                    raise
            else:
                self.answered[settings.base_url] = utc_stamp()
                return result
            await before_waiting()
            place, trouble = settings.base_url, failure.trouble
            _logger.info("%s: asking again in %.1f s (%s)", place, wait, trouble)
            if trouble == "refused":  # it is there, but busy
                tell_wait(wait)
            await self._sleep(wait)
            retries += 1

    async def send(
        self,
        settings: EndpointSettings,
        method: str,
        path: str,
        *,
        content: bytes,
        headers: Mapping[str, str],
    ) -> "httpx2.Response":
        """The answer to one attempt, once its head has come, successful or refused.

        The caller closes it.

        Args:
            settings: The endpoint; its key is added to the headers.
            path: Below the base URL, with a query if there is one: `/chat/completions`.
            headers: All other headers, but for those of the connection.

        Raises:
            RequestFailed: If the address or the key can't be used, no answer begins in time, or
                it redirects.
        """
        client = await self._usable_client(settings)
        library: Any = importlib.import_module("httpx2")
        key = settings.api_key
        all_headers = {**headers, **({"authorization": f"Bearer {key}"} if key else {})}
        wait_s = _wait_s(settings, path)
        with _explained(wait_s):
            request = client.build_request(
                method,
                f"{settings.base_url}{path}",
                content=content or None,
                headers=library.Headers(all_headers, encoding="latin-1"),  # as they were read
                timeout=_timeout(settings, path),
            )
            async with asyncio.timeout(settings.timeout_s + wait_s):
                return await client.send(request, stream=True)

    async def ask(
        self, settings: EndpointSettings, path: str, content: bytes | None
    ) -> "httpx2.Response":
        """The successful answer to one attempt of a model, once its head has come.

        The caller closes it.

        Args:
            settings: The endpoint.
            path: Below the base URL.
            content: What is posted; `None` to get.

        Raises:
            RequestFailed: As `send`; also if the answer is a refusal, or can't be decompressed.
        """
        client = await self._usable_client(settings)
        if self._sdk is None:
            library: Any = await asyncio.to_thread(importlib.import_module, "openai")
            self._sdk = library.AsyncOpenAI
        key = settings.api_key or _NO_KEY
        address = f"{settings.base_url}{path}"
        headers = {**_HEADERS, "authorization": f"Bearer {key}"}
        given: dict[str, Any] = {
            "cast_to": importlib.import_module("httpx2").Response,
            "options": {"headers": headers, "timeout": _timeout(settings, path)},
            "stream": True,
        }
        wait_s = _wait_s(settings, path)
        with _explained(wait_s):
            sdk = self._sdk(
                api_key=key, base_url=settings.base_url, http_client=client, max_retries=0
            )
            async with asyncio.timeout(settings.timeout_s + wait_s):
                if content is None:
                    answer = await sdk.get(address, **given)
                else:
                    answer = await sdk.post(address, content=content, **given)
        response: httpx2.Response = answer
        return response

    async def aclose(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()

    async def _usable_client(self, settings: EndpointSettings) -> "httpx2.AsyncClient":
        """The client for an endpoint.

        Raises:
            RequestFailed: If its address or key can't be used.
        """
        base_url, key = settings.base_url, settings.api_key
        if base_url in self.withheld:
            raise RequestFailed(EndpointFailure(trouble="withheld"))
        if not is_address(base_url):
            words = "base_url is not a web address"
            raise RequestFailed(EndpointFailure(trouble="unreachable", words=words))
        if key and not (key.isascii() and key.isprintable()):
            words = "its key holds characters that can't be sent, such as a line break"
            raise RequestFailed(EndpointFailure(trouble="unusable key", words=words))
        kind = _is_on_this_machine(base_url), base_url.startswith("http:")
        async with self._connecting:
            if kind not in self._clients:
                self._clients[kind] = await asyncio.to_thread(_make_client, base_url)
            return self._clients[kind]


def _make_client(base_url: str) -> "httpx2.AsyncClient":
    """A client for endpoints that are reached as this one; blocks while `httpx2` is imported."""
    library: Any = importlib.import_module("httpx2")
    client: httpx2.AsyncClient = library.AsyncClient(
        follow_redirects=False,
        # the environment's proxy can't reach this machine
        trust_env=not _is_on_this_machine(base_url),
        verify=verification(base_url),
        limits=library.Limits(max_connections=None, max_keepalive_connections=_IDLE_CONNECTIONS),
        headers={"User-Agent": _AGENT},
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),  # keeps none
        event_hooks={"request": [_strip], "response": [_refuse]},
    )
    return client


def _timeout(settings: EndpointSettings, path: str) -> Any:
    library: Any = importlib.import_module("httpx2")
    seconds, connect = settings.timeout_s, min(_CONNECT_S, settings.timeout_s)
    return library.Timeout(seconds, read=_wait_s(settings, path), connect=connect, pool=None)


def _wait_s(settings: EndpointSettings, path: str) -> float:
    """The longest silence of an endpoint before it answers, in seconds."""
    return settings.patience_s if path.startswith(_READ_FIRST) else settings.timeout_s


async def _strip(request: "httpx2.Request") -> None:
    """Remove the SDK's facts about this machine, and values that it took from the environment."""
    if _OF_SDK in request.headers:
        for name in {*request.headers} - _SENT:
            del request.headers[name]
        request.extensions = {**request.extensions, _OF_SDK: True}


async def _refuse(response: "httpx2.Response") -> None:
    """Stop at a redirect before its target, which can be hostile, is read.

    For the SDK's requests, stop at each failure: it would read a refusal of any length.
    """
    asked = response.request.extensions
    if response.is_redirect or _OF_SDK in asked:
        await _check_success(response, asked["timeout"]["write"])


@contextmanager
def _explained(wait_s: float) -> Iterator[None]:
    """Turn any error of the libraries before an answer begins into a failed request."""
    try:
        yield
    except RequestFailed:
        raise
    except TimeoutError:
        raise RequestFailed(EndpointFailure(trouble="slow", waited_s=wait_s)) from None
    except Exception as error:  # noqa: BLE001 - whatever they raise, nothing came
        failure = replace(interrupted(error, has_begun=False), waited_s=wait_s)
        raise RequestFailed(failure) from None


def verification(base_url: str) -> ssl.SSLContext | bool:
    """The certificates to trust: none for plain HTTP to this machine, else the usual ones.

    The usual ones take 20 ms to load. Without any, no server is trusted.
    """
    is_plain = base_url.startswith("http:") and _is_on_this_machine(base_url)
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if is_plain else True


def _is_on_this_machine(base_url: str) -> bool:
    return is_loopback(urlsplit(base_url).hostname or "")


async def decoded(response: "httpx2.Response") -> AsyncGenerator[bytes]:
    """The body, decompressed in steps: `httpx2` would make gigabytes of one piece.

    Raises:
        RequestFailed: If it is not compressed as it says.
    """
    encoding = response.headers.get("content-encoding", "").strip().lower()
    decoder = _decoder(encoding)
    async for piece in response.aiter_raw():
        if decoder is None:
            yield piece
            continue
        rest = piece
        while rest:
            try:
                yield decoder.decompress(rest, _SLICE)
            except zlib.error as error:
                if encoding != "deflate" or decoder.unconsumed_tail:
                    words = f"it is not compressed as it says: {error}"
                    raise RequestFailed(EndpointFailure(trouble="broken", words=words)) from None
                encoding, decoder = "raw deflate", zlib.decompressobj(-zlib.MAX_WBITS)
                continue
            rest = decoder.unconsumed_tail
    while decoder is not None and (part := decoder.decompress(b"", _SLICE)):
        yield part


def _decoder(encoding: str) -> "zlib._Decompress | None":
    if encoding in {"", "identity"}:
        return None
    return zlib.decompressobj(zlib.MAX_WBITS | _EITHER_HEADER if encoding == "gzip" else 0)


async def bounded(source: AsyncIterator[bytes], most_bytes: int) -> AsyncGenerator[bytes]:
    """The bytes in slices of at most 8 KiB, and lets other tasks run in between.

    Raises:
        RequestFailed: If the connection breaks, or after `most_bytes`.
    """
    loop = asyncio.get_running_loop()
    size, rested = 0, loop.time()
    while True:
        try:
            chunk = await anext(source)
        except StopAsyncIteration:
            return
        except RequestFailed:
            raise
        except Exception as error:  # noqa: BLE001 - whatever the library raises
            raise RequestFailed(interrupted(error, has_begun=True)) from None
        for start in range(0, len(chunk), _SLICE):
            part = chunk[start : start + _SLICE]
            size += len(part)
            if size > most_bytes:
                raise RequestFailed(EndpointFailure(trouble="endless"))
            yield part
            if loop.time() - rested > _MOST_S_AT_A_STRETCH:
                await asyncio.sleep(0)
                rested = loop.time()


def interrupted(error: Exception, *, has_begun: bool) -> EndpointFailure:
    """The failure behind an exception of `httpx2`, or of the SDK, which wraps it.

    Args:
        has_begun: The answer's head has come.
    """
    cause = error.__cause__
    if isinstance(cause, RequestFailed):  # wrapped by the SDK before 3.57
        return cause.failure
    if type(error).__name__ in _WRAPPERS and isinstance(cause, Exception):
        error = cause
    name = type(error).__name__
    if name in {"ConnectError", "ConnectTimeout", "InvalidURL", "UnsupportedProtocol"}:
        return EndpointFailure(trouble="unreachable", words=system_words(error))
    if "Timeout" in name:
        return EndpointFailure(trouble="slow")
    return EndpointFailure(trouble="broken" if has_begun else "silent", words=str(error))


def failure_of(response: "httpx2.Response") -> EndpointFailure | None:
    """The failure that an answer's head shows; `None` if it shows success.

    The words are a redirect's target; the body of a refusal says more.
    """
    if response.is_success:
        return None
    status = response.status_code
    if response.is_redirect and (target := _target(response)):
        return EndpointFailure(trouble="redirected", words=target, status=status)
    wait = retry_after_s(response.headers, datetime.now(UTC))
    return EndpointFailure(trouble="refused", status=status, retry_after_s=wait)


async def _check_success(response: "httpx2.Response", timeout_s: float) -> None:
    """Read the message of a refusal, as far as it arrives in time.

    Raises:
        RequestFailed: If the answer counts as failed, or is compressed in a way that is not safe.
    """
    encoding = response.headers.get("content-encoding", "").strip().lower()
    can_read = encoding in _ENCODINGS
    failure = failure_of(response)
    if failure is None and not can_read:
        failure = EndpointFailure(trouble="nonsense", words=f"it is compressed as {encoding!r}")
    elif failure is not None and failure.trouble == "refused" and can_read:
        failure = replace(failure, words=await _error_words(response, timeout_s))
    if failure is not None:
        raise RequestFailed(failure)


def _target(response: Any) -> str:
    """The target of a redirect, as a base_url without credentials, in ASCII."""
    try:
        target = urlsplit(urljoin(str(response.request.url), response.headers["location"]))
        path = target.path
        for route in _ROUTES:
            path = path.removesuffix(route)
        shown = urlunsplit((target.scheme, target.netloc.rpartition("@")[2], path, "", ""))
    except (KeyError, ValueError):
        return ""
    return f'"{shown}"'.encode("ascii", "backslashreplace").decode()


async def _error_words(response: Any, timeout_s: float) -> str:
    """The message in the body of a refusal, as far as it arrives in time."""
    body = bytearray()
    try:
        async with asyncio.timeout(min(timeout_s, _LONGEST_ERROR_S)):
            async for part in bounded(decoded(response), _LARGEST_ERROR):
                body += part
    except (RequestFailed, TimeoutError):
        pass  # the part that arrived says more than the interruption
    try:
        return parsed_error(json.loads(body))
    except (ValueError, RecursionError):
        return body.decode("utf-8", "replace").strip()
