"""Carries events to plugins and clients.

The `EventBus` runs the handlers of plugins, one after another. The `EventRelay` tells clients at
once and in order, and passes the same events to the bus right after.
"""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from smart_context.base.values import JsonObject
from smart_context.host.access import Audience, OwnedName
from smart_context.host.events.events import Event
from smart_context.host.tasks import was_cancelled
from smart_context.host.turn import Turn

P = TypeVar("P")
Handler = Callable[[P], Awaitable[object]]

EventListener = Callable[[str, JsonObject, Audience], None]
"""Called with an event's name, payload and audience."""

Forward = Callable[[Event[Any] | str, JsonObject, Audience], None]
"""Called with an event, its payload and audience."""

HANDLER_TIMEOUT_S = 30.0
SETTLE_TIMEOUT_S = 2.0

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Subscription:
    handler: Handler[Any]
    priority: int
    owner: str


class EventBus:
    """Runs the handlers of an event one after another.

    Args:
        handler_timeout_s: The maximum time for one handler; then it is cancelled and logged, so a
            plugin that hangs delays a turn but does not block it.
    """

    def __init__(self, *, handler_timeout_s: float = HANDLER_TIMEOUT_S) -> None:
        self._handler_timeout_s = handler_timeout_s
        self._subscriptions: dict[str, list[_Subscription]] = {}

    def subscribe(
        self, event: Event[P] | str, handler: Handler[P], priority: int = 0, *, owner: str = ""
    ) -> Callable[[], None]:
        """Run a handler whenever the event is published.

        Args:
            handler: An async function of the payload.
            priority: Handlers of higher priority run earlier; of equal priority, those that
                subscribed first.
            owner: The plugin, for the log.

        Returns:
            A function that ends the subscription; calling it again does nothing.

        Raises:
            TypeError: If the handler is not async.
        """
        if not is_async(handler):
            raise TypeError(
                f"{event_name(event)}: expected an async function, found {handler!r}; "
                "declare it with 'async def'"
            )
        subscription = _Subscription(handler=handler, priority=priority, owner=owner)
        listed = [*self._subscriptions.get(event_name(event), ()), subscription]
        listed.sort(key=lambda entry: -entry.priority)
        self._subscriptions[event_name(event)] = listed
        return lambda: self._drop(event_name(event), subscription)

    def is_awaited(self, event: Event[P] | str) -> bool:
        """True if the event has subscribers."""
        return bool(self._subscriptions.get(event_name(event)))

    async def publish(self, event: Event[P] | str, payload: P) -> None:
        """Run the event's handlers in order; one that fails is logged, and the next one runs.

        A handler that is unsubscribed meanwhile does not run; a new one runs the next time.
        """
        name = event_name(event)
        for subscription in self._subscriptions.get(name, ()):
            if subscription in self._subscriptions.get(name, ()):
                await self._run(name, subscription, payload)

    def _drop(self, name: str, subscription: _Subscription) -> None:
        kept = [entry for entry in self._subscriptions.get(name, ()) if entry is not subscription]
        self._subscriptions[name] = kept

    async def _run(self, name: str, subscription: _Subscription, payload: object) -> None:
        owner = subscription.owner or "the host"
        if isinstance(payload, Turn):
            name = f"turn {payload.id}: {name}"
        timeout = asyncio.timeout(self._handler_timeout_s)
        try:
            async with timeout:
                await subscription.handler(payload)
        except (Exception, SystemExit):
            if timeout.expired():
                _logger.error(  # noqa: TRY400 - the traceback does not show where it hung
                    "%s: a handler of %s took longer than %g s and was cancelled",
                    name,
                    owner,
                    self._handler_timeout_s,
                )
            else:
                _logger.exception("%s: a handler of %s failed", name, owner)
        except asyncio.CancelledError:
            if was_cancelled():
                raise
            _logger.exception("%s: a handler of %s was cancelled by itself", name, owner)


class EventRelay:
    """Calls clients at once; plugins, which are async, get their events from a queue."""

    def __init__(self, bus: EventBus) -> None:
        self._bus = bus
        self._listeners: list[EventListener] = []
        self._waiting: asyncio.Queue[tuple[str, JsonObject] | asyncio.Event] = asyncio.Queue()
        self._forward: Forward | None = None

    def forward_to(self, forward: Forward) -> None:
        """Call `forward` with every event, too."""
        self._forward = forward

    def listen(self, listener: EventListener) -> Callable[[], None]:
        """Call `listener` with every event for clients; returns a function that ends this."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def send(self, event: Event[Any] | str, payload: JsonObject, audience: Audience) -> None:
        """Tell clients in order, then plugins; a client that fails is logged.

        Args:
            audience: The receivers, which listeners must respect; plugins get all events.
        """
        self.tell_clients(event_name(event), payload, audience)
        self.send_to_plugins(event_name(event), payload)
        if self._forward is not None:
            self._forward(event, payload, audience)

    def tell_clients(self, event: str, payload: JsonObject, audience: Audience) -> None:
        """Tell clients only; one that fails is logged."""
        for listener in tuple(self._listeners):
            try:
                listener(event, payload, audience)
            except Exception:
                _logger.exception("%s could not be sent to a client", event)

    def send_to_plugins(self, event: str, payload: JsonObject) -> None:
        """Tell the subscribed plugins soon."""
        if self._bus.is_awaited(event):
            self._waiting.put_nowait((event, payload))

    async def settled(self) -> None:
        """Wait until plugins have handled the events so far; two seconds at most."""
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


def audience_of(payload: Mapping[str, Any]) -> OwnedName | None:
    """The audience of an event about a chat: all who may see the chat; `None` without a chat."""
    chat_id = payload.get("chat_id")
    return OwnedName("chat", chat_id) if isinstance(chat_id, str) else None


def event_name(event: Event[P] | str) -> str:
    """The name of an event that is given as an `Event` or by its name."""
    return event if isinstance(event, str) else event.name


def is_async(handler: object) -> bool:
    """True for async functions, methods and partials, and for objects with an async `__call__`."""
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(
        getattr(handler, "__call__", None)  # noqa: B004 - asks if it is async, not if it is callable
    )
