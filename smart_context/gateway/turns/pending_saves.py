"""Answers that have ended for the client but are not saved yet.

A client may send its next request at once; that one waits until they are saved.
"""

import asyncio
from collections import defaultdict

PATIENCE_S = 2.0


class PendingSaves:
    """The answers that are being saved, by key."""

    def __init__(self) -> None:
        self._saving: dict[str, set[asyncio.Future[None]]] = defaultdict(set)

    def begin(self, key: str) -> asyncio.Future[None]:
        """Register an answer that has ended; whoever saves it sets the result."""
        ending: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._saving[key].add(ending)
        ending.add_done_callback(self._saving[key].discard)
        return ending

    async def settled(self, key: str) -> None:
        """Wait until the answers of a key are saved, but not for long."""
        if waiting := self._saving[key]:
            await asyncio.wait([*waiting], timeout=PATIENCE_S)
