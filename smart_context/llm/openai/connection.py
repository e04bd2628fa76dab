"""The HTTP connection to one endpoint, made so that the endpoint can't misuse it.

Nothing goes elsewhere (no redirect is followed), nothing goes along (no header that the
environment adds), and what comes back is bounded in size and time. `openai` takes half a second to
import, so it is imported when the first client is made, in a thread.
"""

import asyncio
import importlib
import ipaddress
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit, urlunsplit

from smart_context.config import EndpointSettings
from smart_context.llm.failures import Failure, RequestFailed, parsed_error, system_words
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
"""Each is decoded in steps; others, and one within another, can blow up in a single step."""

_HEADERS = frozenset(
    ("accept", "connection", "content-length", "content-type", "host", "transfer-encoding")
)
_ROUTES = ("/chat/completions", "/embeddings")

Hook = Callable[[Any], Awaitable[None]]


def make_client(settings: EndpointSettings) -> "openai.AsyncOpenAI":
    """The client of `openai` for an endpoint; blocks while the library is imported."""
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
            # A proxy of the environment is no way to a server on this machine.
            trust_env=not is_loopback(settings.base_url),
            event_hooks={"request": [_only(own)], "response": [_only_success(settings.timeout_s)]},
        ),
    )
    return client


def is_loopback(base_url: str) -> bool:
    """Whether an address is on this machine."""
    host = urlsplit(base_url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def bounded(source: AsyncIterator[bytes], most_bytes: int) -> AsyncGenerator[bytes]:
    """The bytes in slices of at most 8 KiB, between which other tasks get their turn.

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
            raise RequestFailed(interrupted(error)) from None
        for start in range(0, len(chunk), _SLICE):
            part = chunk[start : start + _SLICE]
            size += len(part)
            if size > most_bytes:
                raise RequestFailed(Failure(trouble="endless"))
            yield part
            if loop.time() - rested > _MOST_S_AT_A_STRETCH:
                await asyncio.sleep(0)
                rested = loop.time()


def interrupted(error: Exception) -> Failure:
    """What an exception of the HTTP library means; `openai` brings one of two with equal names."""
    name = type(error).__name__
    if name in {"ConnectError", "ConnectTimeout", "InvalidURL", "UnsupportedProtocol"}:
        return Failure(trouble="unreachable", words=system_words(error))
    if "Timeout" in name:
        return Failure(trouble="slow")
    return Failure(trouble="broken", words=str(error))


def _only(own: dict[str, str]) -> Hook:
    """Sends these headers and what HTTP needs; `openai` adds others from the environment."""

    async def strip(request: Any) -> None:
        for name in set(request.headers) - _HEADERS:
            if not name.startswith("x-stainless-"):
                del request.headers[name]
        request.headers.update(own)

    return strip


def _only_success(timeout_s: float) -> Hook:
    """Turn any other status into a failure before the library reads its body, or follows it."""

    async def check(response: Any) -> None:
        encoding = response.headers.get("content-encoding", "").strip().lower()
        can_read = encoding in _ENCODINGS
        if response.is_success and can_read:
            return
        status = response.status_code
        if response.is_success:
            failure = Failure(trouble="nonsense", words=f"it is compressed as {encoding!r}")
        elif response.is_redirect and (target := _target(response)):
            failure = Failure(trouble="redirected", words=target, status=status)
        else:
            failure = Failure(
                trouble="refused",
                words=await _error_words(response, timeout_s) if can_read else "",
                status=status,
                retry_after_s=retry_after_s(response.headers, datetime.now(UTC)),
            )
        raise RequestFailed(failure)

    return check


def _target(response: Any) -> str:
    """Where a redirect leads, as a base_url without credentials and in plain letters."""
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
    """What the body of a refusal says, as far as it comes in time."""
    body = bytearray()
    try:
        async with asyncio.timeout(min(timeout_s, _LONGEST_ERROR_S)):
            async for part in bounded(response.aiter_bytes(), _LARGEST_ERROR):
                body += part
    except (RequestFailed, TimeoutError):
        pass  # what came of it says more than that it was cut
    try:
        return parsed_error(json.loads(body))
    except (ValueError, RecursionError):
        return body.decode("utf-8", "replace").strip()
