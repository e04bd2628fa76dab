"""The connections of each address: counted and limited, without flooding the log.

A connection is a stranger until a request on it is let in. The oldest stranger makes room for the
next connection, so silent sockets can't block others.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from smart_context.web.addresses import LogThrottle
from smart_context.web.limits import (
    HEAD_DEADLINE_S,
    KEEP_ALIVE_S,
    MAX_STRANGERS,
    SPARE_DESCRIPTORS,
)

_log = logging.getLogger(__name__)
_SPARE_SHARE = 8
_FEWEST = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """Limits on the number of connections and on waiting for them."""

    total: int  # most connections at a time
    strangers: int  # most connections on which no request has been let in
    strangers_of_peer: int  # most strangers of one address
    # time until a request is let in, and for each later request head
    head_s: float = HEAD_DEADLINE_S
    idle_s: float = KEEP_ALIVE_S  # longest rest between two requests

    @classmethod
    def within(cls, descriptors: int) -> "ConnectionLimits":
        """The limits for a process with this many descriptors."""
        spare = max(SPARE_DESCRIPTORS, descriptors // _SPARE_SHARE)
        total = max(_FEWEST, descriptors - spare)
        strangers = min(MAX_STRANGERS, total // 2)
        return cls(total=total, strangers=strangers, strangers_of_peer=max(1, strangers // 2))


@dataclass(eq=False)
class ClientConnection:
    """One open connection."""

    connections: "Connections"
    peer: str
    close: Callable[[], None]

    def let_in(self) -> None:
        """Record that a request on it was let in: it is no longer a stranger."""
        self.connections.let_in(self)

    def leave(self) -> None:
        """Record that it has closed."""
        self.connections.leave(self)


class Connections:
    """The open connections of one server."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._deadlines: dict[ClientConnection, asyncio.TimerHandle] = {}
        """The strangers, oldest first."""
        self._admitted: set[ClientConnection] = set()
        self._by_peer: Counter[str] = Counter()
        self._crowded = LogThrottle()

    def __len__(self) -> int:
        return len(self._deadlines) + len(self._admitted)

    def enter(self, peer: str, close: Callable[[], None]) -> ClientConnection:
        """Count a new connection; close the oldest stranger if there are too many.

        Args:
            peer: The name of the other end.
            close: Closes the connection at once; also called if it is the only stranger.
        """
        connection = ClientConnection(self, peer, close)
        loop = asyncio.get_running_loop()
        self._deadlines[connection] = loop.call_later(self.limits.head_s, self._expel, connection)
        self._by_peer[peer] += 1
        if self._by_peer[peer] > self.limits.strangers_of_peer:
            self._expel(next(other for other in self._deadlines if other.peer == peer))
        elif len(self._deadlines) > self.limits.strangers or len(self) > self.limits.total:
            self.make_room()
        else:
            return connection
        if count := self._crowded.count():
            _log.warning("Too many connections without a request; closed: %d", count)
        return connection

    def make_room(self) -> bool:
        """Close the oldest stranger; returns False if there is none."""
        oldest = next(iter(self._deadlines), None)
        if oldest is None:
            return False
        self._expel(oldest)
        return True

    def let_in(self, connection: ClientConnection) -> None:
        """Make a stranger known, if it is still connected."""
        if self._forget(connection):
            self._admitted.add(connection)

    def leave(self, connection: ClientConnection) -> None:
        """Stop counting it."""
        self._forget(connection)
        self._admitted.discard(connection)

    def _expel(self, connection: ClientConnection) -> None:
        if self._forget(connection):
            connection.close()

    def _forget(self, stranger: ClientConnection) -> bool:
        deadline = self._deadlines.pop(stranger, None)
        if deadline is None:
            return False
        deadline.cancel()
        self._by_peer[stranger.peer] -= 1
        if not self._by_peer[stranger.peer]:
            del self._by_peer[stranger.peer]
        return True
