"""Requests to a provider and their answers; bytes pass unchanged in both directions."""

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from smart_context.base.config import EndpointSettings
from smart_context.gateway.edge.errors import GatewayError
from smart_context.llm.failures import EndpointFailure, ModelKind, RequestFailed, explained
from smart_context.llm.openai.connection import EndpointClient, failure_of, interrupted
from smart_context.llm.redaction import redacted

if TYPE_CHECKING:
    import httpx

PASSED = frozenset(
    (
        *("content-type", "content-encoding"),
        *("retry-after", "retry-after-ms", "x-should-retry"),
        *("x-request-id", "request-id"),
    )
)
PASSED_BEGINNINGS = ("openai-", "x-ratelimit-", "ratelimit-", "anthropic-ratelimit-")

"""The provider's headers that its client gets. All others stay here.

The client reads the answer from our address, where a header can do more than describe it: set
cookies, clear what a browser keeps, redirect, relax a policy, or pass for one of ours.
"""

_Header = tuple[bytes, bytes]
_FORWARDED = ("accept", "content-type", "openai-beta", "idempotency-key")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request to a provider.

    Attributes:
        endpoint: Where it goes.
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
        headers: The headers to pass on, in order.
        failure: Why it counts as failed; `None` if it does not.
        encoding: How the body is compressed; empty if it is not.
        is_stream: Its body is server-sent events.
    """

    def __init__(self, call: Call, response: "httpx.Response") -> None:
        self.status: int = response.status_code
        self.headers = passed_headers(response.headers.raw, call.endpoint.api_key)
        self.failure = failure_of(response)
        self.encoding: str = response.headers.get("content-encoding", "")
        self.is_stream = "text/event-stream" in response.headers.get("content-type", "")
        self._call = call
        self._response = response

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body's bytes as they arrive.

        Raises:
            GatewayError: If the connection breaks.
        """
        try:
            async for chunk in self._response.aiter_raw():
                if chunk:
                    yield chunk
        except Exception as error:  # noqa: BLE001 - whatever the library raises
            raise _refused(self._call, interrupted(error, has_begun=True)) from None

    async def aclose(self) -> None:
        """Close the connection, which ends the request."""
        await self._response.aclose()


class Upstream:
    """Passes requests on to providers.

    Args:
        client: Asks endpoints, as for models.
    """

    def __init__(self, client: EndpointClient) -> None:
        self._client = client

    async def send(self, call: Call) -> Answer:
        """Send a request, with retries where they help; the body is not read yet.

        Raises:
            GatewayError: If the provider can't be reached, or redirects.
        """
        failed: list[Answer] = []

        async def attempt() -> Answer:
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
                return failed[0]  # the client reads why
            raise _refused(call, error.failure) from None

    async def _attempt(self, call: Call) -> Answer:
        headers = {name: call.headers[name] for name in _FORWARDED if name in call.headers}
        headers["accept-encoding"] = "identity"
        response = await self._client.send(
            call.endpoint, call.method, call.path, content=call.body, headers=headers
        )
        return Answer(call, response)


def _refused(call: Call, failure: EndpointFailure) -> GatewayError:
    is_late = failure.trouble in {"slow", "stalled"}
    status = 504 if is_late else 502
    code = "provider_timeout" if is_late else "provider_unreachable"
    return GatewayError(status, str(explained(failure, call.endpoint, call.kind)), code=code)


def passed_headers(headers: Iterable[_Header], key: str | None) -> list[_Header]:
    """The headers to pass on, with names in lower case; none that holds the key."""
    lower = ((name.lower(), value) for name, value in headers)
    return [(name, value) for name, value in lower if _is_passed(name) and _is_clean(value, key)]


def _is_passed(name: bytes) -> bool:
    text = name.decode("latin-1")
    return text in PASSED or text.startswith(PASSED_BEGINNINGS)


def _is_clean(value: bytes, key: str | None) -> bool:
    text = value.decode("latin-1")
    return not key or redacted(text, key) == text
