"""Disk work beside the event loop."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def to_end(work: Callable[[], T]) -> T:
    """The result of blocking work done in a worker thread.

    Who is cancelled meanwhile still waits for the end: a thread can't be stopped, and a lock
    that is held around the work must not be released while it writes.
    """
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait({running})
        if not running.cancelled():
            running.exception()  # nobody is left to be told
        raise
