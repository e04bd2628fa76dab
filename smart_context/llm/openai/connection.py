"""The HTTP connection to one endpoint, hardened against a hostile one.

No redirect is followed, no header from the environment is sent, and answers are bounded in size
and time. Importing `openai` takes half a second, so it happens with the first client, in a thread.
"""

import asyncio
import importlib
import ipaddress
import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit, urlunsplit

from smart_context.base.config import EndpointSettings
from smart_context.llm.failures import EndpointFailure, RequestFailed, parsed_error, system_words
from smart_context.llm.openai.retries import retry_after_s

if TYPE_CHECKING:
    import openai

CONNECT_S = 10.0
_NO_KEY = "not-needed"
_LARGEST_ERROR = 64 << 10
_LONGEST_ERROR_S = 5.0
_SLICE = 8 << 10
_MOST_S_AT_A_STRETCH = 0.005
_ENCODINGS = frozenset({"", "identity", "gzip", "deflate"})
"""These are decoded in steps; others, and nested ones, can blow up in a single step."""

_HEADERS = frozenset(
    ("accept", "connection", "content-length", "content-type", "host", "transfer-encoding")
)
_ROUTES = ("/chat/completions", "/embeddings")

Hook = Callable[[Any], Awaitable[None]]


def make_client(settings: EndpointSettings) -> "openai.AsyncOpenAI":
    """An `openai` client for an endpoint; blocks while the library is imported."""
    library: Any = importlib.import_module("openai")
    timeout = library.Timeout(settings.timeout_s, connect=min(CONNECT_S, settings.timeout_s))
    key = settings.api_key or _NO_KEY
    own = {
        "Accept-Encoding": "gzip, deflate",
        "Authorization": f"Bearer {key}",
        "User-Agent": f"OpenAI/Python {library.__version__}",
    }
    client: openai.AsyncOpenAI = library.AsyncOpenAI(
        base_url=settings.base_url,
        api_key=key,
        timeout=timeout,
        max_retries=0,
        http_client=library.DefaultAsyncHttpxClient(
            timeout=timeout,
            follow_redirects=False,
            # Requests to this machine bypass the environment's proxy.
            trust_env=not is_loopback(settings.base_url),
            verify=verification(settings.base_url),
            event_hooks={"request": [_only(own)], "response": [_only_success(settings.timeout_s)]},
        ),
    )
    return client


def verification(base_url: str) -> ssl.SSLContext | bool:
    """The certificates to trust: none for plain HTTP to this machine, else the usual ones.

    The usual ones take 20 ms to load. Without any, no server is trusted.
    """
    is_plain = base_url.startswith("http:") and is_loopback(base_url)
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if is_plain else True


def is_loopback(base_url: str) -> bool:
    """True if an address is on this machine."""
    host = urlsplit(base_url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


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
        except Exception as error:  # noqa: BLE001 - of httpx or httpx2, whichever openai brought
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
    """The failure behind an exception of httpx or httpx2, whichever `openai` uses.

    Args:
        has_begun: The answer's head has come.
    """
    name = type(error).__name__
    if name in {"ConnectError", "ConnectTimeout", "InvalidURL", "UnsupportedProtocol"}:
        return EndpointFailure(trouble="unreachable", words=system_words(error))
    if "Timeout" in name:
        return EndpointFailure(trouble="slow")
    return EndpointFailure(trouble="broken" if has_begun else "silent", words=str(error))


def _only(own: dict[str, str]) -> Hook:
    """Keeps only these headers and those that HTTP needs; `openai` adds others."""

    async def strip(request: Any) -> None:
        for name in set(request.headers) - _HEADERS:
            if not name.startswith("x-stainless-"):
                del request.headers[name]
        request.headers.update(own)

    return strip


def _only_success(timeout_s: float) -> Hook:
    """Raise for any other status, before the body is read or a redirect followed."""

    async def check(response: Any) -> None:
        encoding = response.headers.get("content-encoding", "").strip().lower()
        can_read = encoding in _ENCODINGS
        if response.is_success and can_read:
            return
        status = response.status_code
        if response.is_success:
            failure = EndpointFailure(trouble="nonsense", words=f"it is compressed as {encoding!r}")
        elif response.is_redirect and (target := _target(response)):
            failure = EndpointFailure(trouble="redirected", words=target, status=status)
        else:
            failure = EndpointFailure(
                trouble="refused",
                words=await _error_words(response, timeout_s) if can_read else "",
                status=status,
                retry_after_s=retry_after_s(response.headers, datetime.now(UTC)),
            )
        raise RequestFailed(failure)

    return check


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
            async for part in bounded(response.aiter_bytes(), _LARGEST_ERROR):
                body += part
    except (RequestFailed, TimeoutError):
        pass  # the part that arrived says more than the interruption
    try:
        return parsed_error(json.loads(body))
    except (ValueError, RecursionError):
        return body.decode("utf-8", "replace").strip()
