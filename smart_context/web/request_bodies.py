"""Reads the body of a request, up to a limit and within a time."""

import asyncio

from starlette.requests import Request

from smart_context.web.limits import (
    MAX_DROPPED_BYTES,
    MAX_STALL_S,
)


class BodyTooLarge(Exception):
    """A body larger than the endpoint takes."""


async def read_body(
    request: Request,
    most_bytes: int,
    *,
    most_read: int = MAX_DROPPED_BYTES,
    within_s: float | None = None,
) -> bytes:
    """The body; if it is too large, the rest is read and dropped, up to `most_read` in all.

    A client that is still sending when the connection closes never sees the answer.

    Raises:
        BodyTooLarge: If it is larger.
        TimeoutError: If it takes longer than `within_s`, or no bytes arrive for `MAX_STALL_S`.
    """
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > most_read:
        raise BodyTooLarge
    body = bytearray()
    received = 0
    stream = request.stream()
    async with asyncio.timeout(within_s):
        while received <= most_read:
            async with asyncio.timeout(MAX_STALL_S):
                chunk = await anext(stream, None)
            if chunk is None:
                break
            received += len(chunk)
            if received <= most_bytes:
                body += chunk
    if received > most_bytes:
        raise BodyTooLarge
    return bytes(body)
