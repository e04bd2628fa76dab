"""Carries events to clients at once and in order, and to plugins right after."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from smart_context.host.bus import EventBus
from smart_context.values import JsonObject

Listener = Callable[[str, JsonObject], None]

SETTLE_TIMEOUT_S = 2.0

_logger = logging.getLogger(__name__)


class Relay:
    """Clients are called on the spot; plugins, being async, get their events from a queue.

    Args:
        bus: Carries events to plugins.
    """

    def __init__(self, bus: EventBus) -> None:
        self._bus = bus
        self._listeners: list[Listener] = []
        self._waiting: asyncio.Queue[tuple[str, JsonObject] | asyncio.Event] = asyncio.Queue()

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call a function with every event for clients; gives a function that ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def send(self, event: str, payload: JsonObject) -> None:
        """Tell clients, in order; one that fails is logged and the next is told."""
        for listener in tuple(self._listeners):
            try:
                listener(event, payload)
            except Exception:
                _logger.exception("%s could not be sent to a client", event)
        self.send_to_plugins(event, payload)

    def send_to_plugins(self, event: str, payload: JsonObject) -> None:
        """Tell the plugins that subscribed, soon."""
        if self._bus.is_awaited(event):
            self._waiting.put_nowait((event, payload))

    async def settled(self) -> None:
        """Wait until plugins were told of all that was sent so far, but not for ever."""
        mark = asyncio.Event()
        self._waiting.put_nowait(mark)
        with suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_TIMEOUT_S):
                await mark.wait()

    async def run(self) -> None:
        """Carry events to plugins until cancelled."""
        while True:
            waiting = await self._waiting.get()
            if isinstance(waiting, asyncio.Event):
                waiting.set()
            else:
                await self._bus.publish(*waiting)
