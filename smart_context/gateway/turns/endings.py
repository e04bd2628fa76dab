"""Answers whose end the client has seen, and which are not saved yet.

A client may ask again at once: its next request is looked at when they are.
"""

import asyncio
from collections import defaultdict

PATIENCE_S = 2.0


class Endings:
    """What is being saved, by key."""

    def __init__(self) -> None:
        self._saving: dict[str, set[asyncio.Future[None]]] = defaultdict(set)

    def begin(self, key: str) -> asyncio.Future[None]:
        """An answer has ended; its saver sets the result."""
        ending: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._saving[key].add(ending)
        ending.add_done_callback(self._saving[key].discard)
        return ending

    async def settled(self, key: str) -> None:
        """Wait until what a key's clients have seen is saved, but not long."""
        if waiting := self._saving[key]:
            await asyncio.wait([*waiting], timeout=PATIENCE_S)
