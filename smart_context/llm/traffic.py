"""Gives a person's requests to a model server priority over those of the background.

A server at home often answers one request at a time. A question would wait there until topics are
named, which takes a slow machine minutes.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

from smart_context.base.config.addresses import is_loopback
from smart_context.base.waiting import is_waited_for

T = TypeVar("T")

QUIET_S = 4.0
"""The background waits for this time without a person's request: a second question may follow."""

LONGEST_WAIT_S = 300.0
"""A background request that has waited this long begins as soon as no person asks.

A server on another machine answers several at once: the request then begins even during persons'
requests, and none of them ends it, since there may be requests all the time.
"""

_LEAST_QUIET_S = 1.0
_MOST_QUIET_S = 30.0
_CLOSING_S = 2.0
"""The longest wait for a connection to close, which usually takes no time."""


@dataclass(eq=False)
class _ServerRequests:
    """The requests to one server."""

    is_elsewhere: bool  # not on this machine
    asking: int = 0  # the requests of persons that are under way
    ended_at: float = -math.inf  # the time at which the last of them ended
    person_s: float = 0.0  # the time that recent ones took
    background_s: float = 0.0  # the time that the background's last request took
    background: "asyncio.Task[Any] | None" = None
    alone: asyncio.Lock = field(default_factory=asyncio.Lock)  # one background request at a time
    is_free: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def quiet_s(self) -> float:
        """The time without requests before the background asks; longer for a slow server."""
        usual = min(QUIET_S, max(_LEAST_QUIET_S, 4 * self.person_s))
        return min(max(usual, self.background_s), _MOST_QUIET_S)

    async def give_way(self) -> None:
        """End the background's request; its connection is closed then, so the server stops."""
        if self.background is not None:
            self.background.cancel()
            await asyncio.wait([self.background], timeout=_CLOSING_S)


class Traffic:
    """The order of requests to servers; all models of a vault and its gateway share one.

    Args:
        clock: The time in seconds.
        sleep: Waits for some seconds.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._servers: dict[str, _ServerRequests] = {}
        self._written_at = -math.inf

    def person_writes(self) -> None:
        """Record that a person writes a message, so that a question comes soon."""
        self._written_at = self._clock()

    @asynccontextmanager
    async def of_person(self, base_url: str) -> AsyncIterator[None]:
        """A block in which a person waits for a server; ends the background's request first."""
        server = self._server(base_url)
        begun = self._clock()
        server.asking += 1
        server.is_free.clear()
        try:
            await server.give_way()
            yield
        finally:
            server.asking -= 1
            server.ended_at = self._clock()
            # Halved only, since an embedding takes no time on a server that answers slowly.
            server.person_s = max(server.ended_at - begun, server.person_s / 2)
            if not server.asking:
                server.is_free.set()

    async def in_order(self, base_url: str, ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of a request to a server: at once if somebody waits for it.

        Otherwise it begins when the server has been quiet for a while, no person writes a message,
        and no other background request runs there. A person's request ends it, and it begins again
        later; see also `LONGEST_WAIT_S`.
        """
        if is_waited_for():
            async with self.of_person(base_url):
                return await ask()
        server = self._server(base_url)
        async with server.alone:
            due_at = self._clock() + LONGEST_WAIT_S
            while True:
                await self._quiet(server, due_at)
                begun = self._clock()
                if server.is_elsewhere and begun >= due_at:
                    return await ask()
                server.background = asking = asyncio.create_task(ask())
                least_s = 0.0
                try:
                    return await asking
                except asyncio.CancelledError:
                    least_s = server.background_s
                    if _is_cancelled():
                        raise
                finally:
                    server.background = None
                    took_s = self._clock() - begun
                    server.background_s = max(least_s, took_s)
                    due_at += took_s  # running time is no waiting time

    async def _quiet(self, server: _ServerRequests, due_at: float) -> None:
        """Wait until nobody has asked a server or written for a while, or a request is due."""
        while True:
            now = self._clock()
            if server.asking and server.is_elsewhere and now < due_at:
                await self._free(server, due_at - now)
            elif server.asking and not server.is_elsewhere:
                await server.is_free.wait()
            else:
                quiet_at = max(server.ended_at, self._written_at) + server.quiet_s
                left = min(quiet_at, due_at) - now
                if left <= 0:
                    return
                await self._sleep(left)

    async def _free(self, server: _ServerRequests, seconds: float) -> None:
        """Wait until no person asks a server, at most for some seconds."""
        waits = [asyncio.ensure_future(server.is_free.wait())]
        waits.append(asyncio.ensure_future(self._sleep(seconds)))  # type: ignore[arg-type] # another result
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def _server(self, base_url: str) -> _ServerRequests:
        place = _place(base_url)
        is_elsewhere = not place.startswith(_HERE)
        return self._servers.setdefault(place, _ServerRequests(is_elsewhere=is_elsewhere))


def _is_cancelled() -> bool:
    """True if the running task was cancelled, not only the request that it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _place(base_url: str) -> str:
    """A name for the server behind an address, the same for all paths and names of this machine."""
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return base_url
    return f"{_HERE if is_loopback(host) else f'{host}:'}{port or parts.scheme}"


_HERE = "localhost:"
