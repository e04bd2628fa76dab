"""Slows down guessing: after a few wrong secrets, an address waits for each answer.

A right token is answered at once, unless guesses take all turns of its own address.
Hanging up early still uses a turn, so it makes guessing no faster.
"""

import asyncio
import logging
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from smart_context.web.addresses import LogThrottle

_log = logging.getLogger(__name__)

FREE_FAILURES = 5
"""Wrong secrets that are answered at once."""

FORGIVEN_AFTER_S = 10.0
"""Time until one of them is forgotten."""

FIRST_DELAY_S = 0.25
LONGEST_DELAY_S = 2.0

TURNS = 32
"""Attempts of one address that are checked, or wait for their answer, at a time."""

MAX_QUEUE = 64
"""Attempts that may wait for a turn; further ones are refused unchecked."""

MAX_PEERS = 1024
_OTHERS = "many addresses"


@dataclass(frozen=True, slots=True)
class WrongSecret:
    """A kind of wrong secret, in words for whoever reads the log."""

    name: str
    next_step: str  # for whoever should be let in


class TooManyAttempts(Exception):
    """An attempt was refused unchecked, since too many attempts wait already."""


@dataclass(eq=False)
class Throttle:
    """Counts wrong secrets by address."""

    first_delay_s: float = FIRST_DELAY_S  # the first delay; each further one is twice as long
    clock: Callable[[], float] = time.monotonic  # the time in seconds
    _peers: dict[str, "Attempts"] = field(default_factory=dict, init=False)

    @asynccontextmanager
    async def attempt(self, peer: str) -> AsyncIterator["Attempts"]:
        """Wait for a turn to look at a secret; the caller reports a wrong one.

        Raises:
            TooManyAttempts: If too many wait already.
        """
        known = self._peer(peer)
        if known.inside >= TURNS + MAX_QUEUE:
            raise TooManyAttempts(peer)
        known.inside += 1
        try:
            async with known.turns:
                yield known
        finally:
            known.inside -= 1

    def _peer(self, name: str) -> "Attempts":
        if name not in self._peers and len(self._peers) >= MAX_PEERS:
            now = self.clock()
            self._peers = {key: peer for key, peer in self._peers.items() if not peer.is_past(now)}
        if name not in self._peers and len(self._peers) >= MAX_PEERS:
            name = _OTHERS
        return self._peers.setdefault(name, Attempts(name, self.first_delay_s, self.clock))


class Attempts:
    """The attempts of one address."""

    def __init__(self, name: str, first_delay_s: float, clock: Callable[[], float]) -> None:
        self.inside = 0
        self.turns = asyncio.Semaphore(TURNS)
        self._name = name
        self._first_delay_s = first_delay_s
        self._clock = clock
        self._failures = 0.0
        self._failed_at = 0.0
        self._lines: dict[WrongSecret, LogThrottle] = {}

    async def fail(self, secret: WrongSecret) -> None:
        """Record a wrong secret: log once in a while, and wait; the turn is kept meanwhile."""
        now = self._clock()
        self._failures = self._failures_left(now) + 1
        self._failed_at = now
        lines = self._lines.setdefault(secret, LogThrottle(clock=self._clock))
        if count := lines.count():
            told = secret.name, self._name, count, secret.next_step
            _log.warning("%s from %s; attempts: %d. %s", *told)
        excess = math.ceil(self._failures) - FREE_FAILURES
        if excess > 0:
            delay_s = self._first_delay_s * 2.0 ** min(excess - 1, 16)
            await asyncio.sleep(min(delay_s, LONGEST_DELAY_S))

    def is_past(self, now: float) -> bool:
        """True if no attempt waits and all wrong secrets are forgotten."""
        return not self.inside and not self._failures_left(now)

    def _failures_left(self, now: float) -> float:
        return max(0.0, self._failures - (now - self._failed_at) / FORGIVEN_AFTER_S)
