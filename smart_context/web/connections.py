"""The connections of each address: counted and limited, without flooding the log.

A connection is a stranger's until a request on it is let in, so silent sockets keep nobody out;
the oldest makes room for the next.
"""

import asyncio
import ipaddress
import logging
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from smart_context.web.limits import (
    HEAD_DEADLINE_S,
    KEEP_ALIVE_S,
    MAX_STRANGERS,
    QUIET_S,
    SPARE_DESCRIPTORS,
)


@dataclass(eq=False)
class LogThrottle:
    """Counts events, and lets a log line through now and then."""

    quiet_s: float = QUIET_S  # time between two lines
    clock: Callable[[], float] = time.monotonic  # the time in seconds
    _count: int = field(default=0, init=False)
    _next_line: float | None = field(default=None, init=False)

    def count(self) -> int:
        """The number of events since the last line if a line is due, else 0."""
        self._count += 1
        now = self.clock()
        if self._next_line is not None and now < self._next_line:
            return 0
        self._next_line = now + self.quiet_s
        count, self._count = self._count, 0
        return count


NOWHERE = "an unknown address"

_HOME_PREFIX = 64


def peer_of(address: object) -> str:
    """The name under which connections from an address are counted.

    Args:
        address: The socket's other end: `(host, port, …)`.

    Returns:
        An IPv4 address, or the /64 network of an IPv6 address, which is one customer's.
    """
    try:
        return _peer_at(str(address[0]))  # type: ignore[index] # else a TypeError
    except (TypeError, IndexError, ValueError):
        return NOWHERE


@lru_cache(maxsize=256)
def _peer_at(text: str) -> str:
    host = ipaddress.ip_address(text)
    if isinstance(host, ipaddress.IPv4Address):
        return str(host)
    if host.ipv4_mapped is not None:
        return str(host.ipv4_mapped)
    return str(ipaddress.ip_network((int(host), _HOME_PREFIX), strict=False))


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
class Connection:
    """One open connection."""

    connections: "Connections"
    peer: str
    close: Callable[[], None]

    def let_in(self) -> None:
        """A request on it was let in: it is a stranger no longer."""
        self.connections.let_in(self)

    def leave(self) -> None:
        """It has closed."""
        self.connections.leave(self)


class Connections:
    """The open connections of one server."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._deadlines: dict[Connection, asyncio.TimerHandle] = {}
        """The strangers, oldest first."""
        self._admitted: set[Connection] = set()
        self._by_peer: Counter[str] = Counter()
        self._crowded = LogThrottle()

    def __len__(self) -> int:
        return len(self._deadlines) + len(self._admitted)

    def enter(self, peer: str, close: Callable[[], None]) -> Connection:
        """Count a new connection; closes the oldest stranger if there are too many.

        Args:
            peer: The name of the other end.
            close: Closes the connection at once; called too if no other stranger is left.
        """
        connection = Connection(self, peer, close)
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

    def let_in(self, connection: Connection) -> None:
        """Make a stranger known, if it is still connected."""
        if self._forget(connection):
            self._admitted.add(connection)

    def leave(self, connection: Connection) -> None:
        """Stop counting it."""
        self._forget(connection)
        self._admitted.discard(connection)

    def _expel(self, connection: Connection) -> None:
        if self._forget(connection):
            connection.close()

    def _forget(self, stranger: Connection) -> bool:
        deadline = self._deadlines.pop(stranger, None)
        if deadline is None:
            return False
        deadline.cancel()
        self._by_peer[stranger.peer] -= 1
        if not self._by_peer[stranger.peer]:
            del self._by_peer[stranger.peer]
        return True
