"""Lets a person's requests to a server of models go before those of the background.

A server at home often answers one request at a time. A question would wait there until the names
of topics are found, which takes a slow machine minutes.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

from smart_context.base.asking import is_waited_for
from smart_context.base.config.endpoints import is_loopback

T = TypeVar("T")

QUIET_S = 4.0
"""The background asks when nobody has asked for so long, so that a second question is not met."""

_LEAST_QUIET_S = 1.0
_MOST_QUIET_S = 30.0
_CLOSING_S = 2.0
"""A connection is closed at once; one that can't be closed holds nobody up for longer."""


@dataclass(eq=False)
class _Server:
    """The requests to one server."""

    asking: int = 0  # the requests of persons that are under way
    ended_at: float = -math.inf  # when the last of them ended
    person_s: float = 0.0  # how long they took of late
    background_s: float = 0.0  # how long the last request of the background took
    background: "asyncio.Task[Any] | None" = None
    alone: asyncio.Lock = field(default_factory=asyncio.Lock)  # one background request at a time
    is_free: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def quiet_s(self) -> float:
        """How long nobody must have asked: short if it answers at once, long if it is slow."""
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
        self._servers: dict[str, _Server] = {}

    @asynccontextmanager
    async def of_person(self, base_url: str) -> AsyncIterator[None]:
        """A block in which a person waits for a server; what the background asked it has ended."""
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
            # Halved, since what is embedded takes no time where an answer takes long.
            server.person_s = max(server.ended_at - begun, server.person_s / 2)
            if not server.asking:
                server.is_free.set()

    async def in_order(self, base_url: str, ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of a request to a server: at once if somebody waits for it.

        Else it begins when the server has been quiet for a while and no other request of the
        background runs there. A person's request ends it, and it begins again later.
        """
        if is_waited_for():
            async with self.of_person(base_url):
                return await ask()
        server = self._server(base_url)
        async with server.alone:
            while True:
                await self._quiet(server)
                begun = self._clock()
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
                    server.background_s = max(least_s, self._clock() - begun)

    async def _quiet(self, server: _Server) -> None:
        """Wait until nobody has asked a server for a while."""
        while True:
            if server.asking:
                await server.is_free.wait()
            elif (left := server.ended_at + server.quiet_s - self._clock()) > 0:
                await self._sleep(left)
            else:
                return

    def _server(self, base_url: str) -> _Server:
        return self._servers.setdefault(_place(base_url), _Server())


def _is_cancelled() -> bool:
    """True if the running task was cancelled, not only the request that it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _place(base_url: str) -> str:
    """The server behind an address: two paths, or two names of this machine, may be one's."""
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return base_url
    return f"{'localhost' if is_loopback(host) else host}:{port or parts.scheme}"
