"""Reads a client's request, and notices when the client disconnects."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.types import Receive, Scope

from smart_context.gateway.edge.errors import GatewayError
from smart_context.gateway.requests.body import MAX_BODY_BYTES

T = TypeVar("T")

PATIENCE_S = 30.0
"""Maximum wait for the next part of a body."""

MAX_DROPPED_BYTES = 4 * MAX_BODY_BYTES
"""The maximum bytes read of a body that is too large, so that its sender gets an answer."""

_TOO_LARGE = 413


class ClientGone(Exception):
    """The client has closed its connection, so no answer is needed."""


def headers_of(scope: Scope) -> dict[str, str]:
    """The headers by lower-case name; the last one of each name."""
    return {
        name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
    }


async def read_bytes(receive: Receive) -> bytes:
    """The whole body of a request.

    Raises:
        GatewayError: If it is too large, or does not arrive in time.
    """
    body = bytearray()
    size = 0
    while True:
        try:
            async with asyncio.timeout(PATIENCE_S):
                message = await receive()
        except TimeoutError:
            raise GatewayError(400, "The rest of the body did not come in time.") from None
        if message["type"] == "http.disconnect":
            raise ClientGone
        chunk: bytes = message.get("body", b"")
        size += len(chunk)
        if size <= MAX_BODY_BYTES:
            body += chunk
        elif size > MAX_DROPPED_BYTES:
            raise _too_large()
        if not message.get("more_body"):
            break
    if size > MAX_BODY_BYTES:
        raise _too_large()
    return bytes(body)


def _too_large() -> GatewayError:
    return GatewayError(_TOO_LARGE, f"The body is larger than {MAX_BODY_BYTES >> 20} MiB.")


class NobodyWaiting(Exception):
    """The client has gone away, or the server stops."""


class DisconnectWatch:
    """Watches whether the client is still connected and the server runs.

    Args:
        receive: Reports when the client disconnects; the body must be read before.
        stopping: Set when the server stops.
    """

    def __init__(self, receive: Receive, stopping: asyncio.Event) -> None:
        self._tasks = (
            asyncio.create_task(_until_gone(receive)),
            asyncio.create_task(stopping.wait()),
        )

    async def during(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of work, which is cancelled if the client disconnects or the server stops.

        Raises:
            NobodyWaiting: If it was cancelled for one of these reasons.
        """
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait({task, *self._tasks}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            raise NobodyWaiting
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    def close(self) -> None:
        """Stop watching."""
        for task in self._tasks:
            task.cancel()


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
