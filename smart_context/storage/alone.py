"""Events and leases where no other process is told: the default of one machine."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from weakref import WeakValueDictionary

from smart_context.base.values import JsonObject
from smart_context.chat.messages import ChatId
from smart_context.storage.ports import ChangeListener, Heard


class NoOthers:
    """Nobody hears anything; satisfies `Events`."""

    is_shared = False

    def send(self, message: JsonObject) -> None:
        """Nobody is there."""

    async def listen(self, heard: Heard, begun: Callable[[], None]) -> None:  # noqa: ARG002 - there is nothing to hear
        """Wait until cancelled."""
        begun()
        await asyncio.get_running_loop().create_future()

    async def settle(self) -> None:
        """Nothing is on its way."""


class OwnLeases:
    """Leases within this process; satisfies `Leases`."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def held(self, name: str) -> AsyncIterator[None]:
        async with self._locks.setdefault(name, asyncio.Lock()):
            yield


_log = logging.getLogger(__name__)


class Listeners:
    """Called one after another; one that fails is logged."""

    def __init__(self) -> None:
        self._listeners: list[ChangeListener] = []

    def add(self, listener: ChangeListener) -> Callable[[], None]:
        """Add a listener; returns a function that ends this, which may be called twice."""

        def call(chat: ChatId) -> None:  # a new object, so that one listener may be added twice
            listener(chat)

        def unsubscribe() -> None:
            with suppress(ValueError):
                self._listeners.remove(call)

        self._listeners.append(call)
        return unsubscribe

    def tell(self, chat: ChatId) -> None:
        """Call all listeners."""
        for listener in tuple(self._listeners):
            try:
                listener(chat)
            except Exception:  # noqa: BLE001 - one listener must not stop the others
                _log.exception("A listener failed on the change of chat %s", chat)

    def clear(self) -> None:
        """Forget them."""
        self._listeners.clear()
