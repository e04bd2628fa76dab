"""Joins the pieces of an answer that arrive faster than they can be passed on."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

MOST_BYTES = 256 << 10
"""The maximum bytes that wait for a slow client; then the provider waits, too."""


async def coalesced(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """The bytes of `chunks` as they arrive, in as few pieces as possible.

    A piece that arrives alone is passed on at once. Close the generator to stop reading.
    """
    waiting = _PendingBytes()
    reading = asyncio.create_task(_read(chunks, waiting))
    try:
        while await waiting.has_more():
            yield waiting.taken()
        await reading  # raises the error that broke it
    finally:
        reading.cancel()
        await asyncio.wait({reading})


async def _read(chunks: AsyncIterator[bytes], waiting: "_PendingBytes") -> None:
    try:
        async for chunk in chunks:
            waiting.put(chunk)
            if waiting.is_full:  # a slow client slows the provider down
                await waiting.has_room()
    finally:
        waiting.end()


class _PendingBytes:
    """Bytes that have arrived and are not passed on yet."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0
        self._is_over = False
        self._changed = asyncio.Event()
        self._emptied = asyncio.Event()

    @property
    def is_full(self) -> bool:
        return self._size >= MOST_BYTES

    def put(self, chunk: bytes) -> None:
        self._pieces.append(chunk)
        self._size += len(chunk)
        self._changed.set()

    def end(self) -> None:
        self._is_over = True
        self._changed.set()

    def taken(self) -> bytes:
        piece = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        self._emptied.set()
        return piece

    async def has_more(self) -> bool:
        """Wait for bytes; returns False at the end."""
        while not self._pieces and not self._is_over:
            self._changed.clear()
            await self._changed.wait()
        return bool(self._pieces)

    async def has_room(self) -> None:
        self._emptied.clear()
        await self._emptied.wait()
