"""Requests to a provider and their answers; bytes pass unchanged in both directions."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from smart_context.base.config import EndpointSettings
from smart_context.gateway.edge.errors import GatewayError
from smart_context.llm.failures import (
    EndpointFailure,
    ModelKind,
    RequestFailed,
    explained,
    parsed_error,
)
from smart_context.llm.openai.connection import EndpointClient, failure_of, interrupted
from smart_context.llm.redaction import redacted

if TYPE_CHECKING:
    import httpx2

PASSED = frozenset(
    (
        *("content-type", "content-encoding"),
        *("retry-after", "retry-after-ms", "x-should-retry"),
        *("x-request-id", "request-id"),
    )
)
PASSED_BEGINNINGS = ("openai-", "x-ratelimit-", "ratelimit-", "anthropic-ratelimit-")
"""Beginnings of further headers of the provider that are passed on, besides `PASSED`.

All others are removed. The client gets the answer from our address, where a header could set
cookies, clear a browser's stored data, redirect, relax a policy, or look like one of ours.
"""

_Header = tuple[bytes, bytes]
_FORWARDED = ("accept", "content-type", "openai-beta", "idempotency-key")
_MOST_WORDS = 64 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderCall:
    """A request to a provider."""

    endpoint: EndpointSettings  # the endpoint that is asked
    method: str
    path: str  # below the base URL, with a query if there is one: `/chat/completions`
    body: bytes = b""  # the body to send
    headers: Mapping[str, str]  # the client's headers, by lower-case name
    kind: ModelKind = "chat model"  # the name of the model's category in errors


class ProviderAnswer:
    """A provider's answer whose status and headers have arrived.

    Attributes:
        headers: The headers to pass on, in order.
        failure: The reason why it counts as failed; `None` if it does not.
        encoding: The compression of the body; empty for none.
        is_stream: True if the body is server-sent events.
        ending: The contexts that end when the answer is closed.
    """

    def __init__(self, call: ProviderCall, response: "httpx2.Response") -> None:
        self.status: int = response.status_code
        self.headers = passed_headers(response.headers.raw, call.endpoint.api_key)
        self.failure = failure_of(response)
        self.encoding: str = response.headers.get("content-encoding", "")
        self.is_stream = "text/event-stream" in response.headers.get("content-type", "")
        self._call = call
        self._response = response
        self._begun: list[bytes] = []  # pieces that are read, but not given yet
        self._pieces = response.aiter_raw()
        self.ending = AsyncExitStack()

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body's bytes as they arrive.

        Raises:
            GatewayError: If the connection breaks.
        """
        longest_s = self._call.endpoint.patience_s
        try:
            while self._begun:
                yield self._begun.pop(0)
            while (chunk := await _next(self._pieces, longest_s)) is not None:
                if chunk:
                    yield chunk
                    longest_s = self._call.endpoint.timeout_s
        except Exception as error:  # noqa: BLE001 - any error of the library
            raise _refused(self._call, interrupted(error, has_begun=True)) from None

    async def words(self) -> str:
        """The error message at the beginning of a refusal; `chunks` still gives the whole body."""
        limit, size = self._call.endpoint.patience_s, 0
        with suppress(Exception):  # `chunks` raises the error
            while size < _MOST_WORDS and (chunk := await _next(self._pieces, limit)) is not None:
                self._begun.append(chunk)
                size += len(chunk)
        whole = b"".join(self._begun)
        try:
            return parsed_error(json.loads(whole))
        except (ValueError, RecursionError):
            return whole.decode(errors="replace")

    async def aclose(self) -> None:
        """Close the connection, which ends the request."""
        async with self.ending:
            await self._response.aclose()


async def _next(pieces: AsyncIterator[bytes], longest_s: float) -> bytes | None:
    try:
        async with asyncio.timeout(longest_s):
            return await anext(pieces)
    except StopAsyncIteration:
        return None


class Upstream:
    """Passes requests on to providers."""

    def __init__(self, client: EndpointClient) -> None:
        self._client = client

    async def send(self, call: ProviderCall) -> ProviderAnswer:
        """Send a request, with retries if they can help; the answer's body is not read yet.

        Until the answer is closed, a `POST` has priority over the background's requests to the
        provider.

        Raises:
            GatewayError: If the provider can't be reached, or redirects.
        """
        async with AsyncExitStack() as stack:
            if call.method == "POST":
                traffic = self._client.traffic
                await stack.enter_async_context(traffic.of_person(call.endpoint.base_url))
            answer = await self._answer(call)
            answer.ending = stack.pop_all()
        return answer

    async def _answer(self, call: ProviderCall) -> ProviderAnswer:
        failed: list[ProviderAnswer] = []

        async def attempt() -> ProviderAnswer:
            answer = await self._attempt(call)
            if answer.failure is not None:
                failed.append(answer)
                raise RequestFailed(answer.failure)
            return answer

        async def close() -> None:
            for answer in failed:
                await answer.aclose()
            failed.clear()

        try:
            return await self._client.persist(attempt, call.endpoint, close)
        except RequestFailed as error:
            if failed:
                return failed[0]  # the client gets its error
            raise _refused(call, error.failure) from None

    async def _attempt(self, call: ProviderCall) -> ProviderAnswer:
        headers = {name: call.headers[name] for name in _FORWARDED if name in call.headers}
        headers["accept-encoding"] = "identity"
        response = await self._client.send(
            call.endpoint, call.method, call.path, content=call.body, headers=headers
        )
        return ProviderAnswer(call, response)


def _refused(call: ProviderCall, failure: EndpointFailure) -> GatewayError:
    is_late = failure.trouble in {"slow", "stalled"}
    status = 504 if is_late else 502
    code = "provider_timeout" if is_late else "provider_unreachable"
    return GatewayError(status, str(explained(failure, call.endpoint, call.kind)), code=code)


def passed_headers(headers: Iterable[_Header], key: str | None) -> list[_Header]:
    """The headers to pass on, with names in lower case, without those that hold the key."""
    lower = ((name.lower(), value) for name, value in headers)
    return [(name, value) for name, value in lower if _is_passed(name) and _is_clean(value, key)]


def _is_passed(name: bytes) -> bool:
    text = name.decode("latin-1")
    return text in PASSED or text.startswith(PASSED_BEGINNINGS)


def _is_clean(value: bytes, key: str | None) -> bool:
    text = value.decode("latin-1")
    return not key or redacted(text, key) == text
