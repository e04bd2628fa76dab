"""Parts of storage within one process: events and leases without others."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from smart_context.base.values import JsonObject
from smart_context.storage.ports import ProcessListener


class NoOthers:
    """Events for a single process: there is no other to send to; satisfies `Events`."""

    is_shared = False

    def send(self, message: JsonObject) -> None:
        """Do nothing: there is no other process."""

    async def listen(self, heard: ProcessListener, begun: Callable[[], None]) -> None:  # noqa: ARG002 - there is nothing to hear
        """Wait until cancelled."""
        begun()
        await asyncio.get_running_loop().create_future()

    async def settle(self) -> None:
        """Do nothing: no message waits."""


class OwnLeases:
    """Leases within this process; satisfies `Leases`."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def held(self, name: str) -> AsyncIterator[None]:
        async with self._locks.setdefault(name, asyncio.Lock()):
            yield
