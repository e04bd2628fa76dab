"""Cancels work that nobody waits for any longer."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.types import Receive

T = TypeVar("T")


class NobodyWaiting(Exception):
    """The client has gone away, or the server stops."""


class DisconnectWatch:
    """Watches whether the client is still connected and the server runs.

    Args:
        receive: Reports when the client disconnects; its body was read.
        stopping: Set when the server stops.
    """

    def __init__(self, receive: Receive, stopping: asyncio.Event) -> None:
        self._tasks = (
            asyncio.create_task(_until_gone(receive)),
            asyncio.create_task(stopping.wait()),
        )

    async def during(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of work, which is cancelled once nobody waits for it.

        Raises:
            NobodyWaiting: If it was cancelled for that.
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
