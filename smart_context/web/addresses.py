"""The addresses that connections come from, and a log that they can't flood."""

import ipaddress
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from smart_context.web.limits import (
    QUIET_S,
)


@dataclass(eq=False)
class LogThrottle:
    """Counts events, and allows a log line once in a while."""

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
