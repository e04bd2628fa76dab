"""Passes a provider's answer on to the client, and reads it in passing."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field

from starlette.types import Send

from smart_context.gateway.answers import BodyGatherer, Gathered, StreamGatherer, decoder
from smart_context.gateway.edge.errors import GatewayError
from smart_context.gateway.edge.upstream import Answer
from smart_context.gateway.turns.exchange import Headers

MOST_BYTES = 256 << 10
"""Most bytes that wait for a slow client; then the provider waits, too."""


async def coalesced(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """The bytes of `chunks` as they arrive, in as few pieces as possible.

    A piece that arrives alone is passed on at once. Close the generator to stop reading.
    """
    waiting = _Waiting()
    reading = asyncio.create_task(_read(chunks, waiting))
    try:
        while await waiting.has_more():
            yield waiting.taken()
        await reading  # raises what broke it
    finally:
        reading.cancel()
        await asyncio.wait({reading})


async def _read(chunks: AsyncIterator[bytes], waiting: "_Waiting") -> None:
    try:
        async for chunk in chunks:
            waiting.put(chunk)
            if waiting.is_full:  # a slow client slows the provider down
                await waiting.has_room()
    finally:
        waiting.end()


class _Waiting:
    """Bytes that have arrived and were not passed on yet."""

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


_LINE_END = re.compile(rb"\xe2\x80[\xa8\xa9]|\xc2\x85|[\x0b\x0c\x1c-\x1e]")
_HALF_LINE_END = re.compile(rb"(?:\xe2\x80?|\xc2)\Z")
_BLANK_LINE = re.compile(rb"(?:\n\r?\n|\n\r|\r\r\n?)\Z")
_TAIL = 4


@dataclass(eq=False)
class Relay:
    """One answer that is passed on."""

    answer: Answer  # the provider's
    headers: Headers  # ours, added to the provider's
    on_text: Callable[[str], None] = lambda _text: None  # gets new text of the answer
    on_end: Callable[[], None] = lambda: None  # called when the client is about to see the end
    error: str = field(default="", init=False)  # why it broke; empty if it did not

    def __post_init__(self) -> None:
        self._decode = decoder(self.answer.encoding)
        # Nothing of ours can follow half a compressed body.
        is_plain = self.answer.encoding.strip().lower() in {"", "identity"}
        self._lines = EventLines() if self.answer.is_stream and is_plain else None
        self._gatherer = StreamGatherer() if self.answer.is_stream else BodyGatherer()

    @property
    def gathered(self) -> Gathered:
        """The answer, as far as it has arrived."""
        return self._gatherer.answer

    async def run(self, send: Send) -> bool:
        """Pass on everything but the end; returns whether the end may follow.

        A body that broke off gets no end, so the client sees that it is incomplete.
        """
        try:
            return await self._pass_on(send)
        finally:
            await self.answer.aclose()
            self._note(self._gatherer.close())

    async def _pass_on(self, send: Send) -> bool:
        # The end comes once the answer is saved, which a known length would not allow.
        theirs = [pair for pair in self.answer.headers if pair[0] != b"content-length"]
        headers = [*theirs, *self.headers]
        start = {"type": "http.response.start", "status": self.answer.status, "headers": headers}
        await send(start)
        if not self.answer.is_stream:
            self.on_end()
        try:
            async with aclosing(coalesced(self.answer.chunks())) as chunks:
                async for chunk in chunks:
                    text = await self._read(chunk)
                    passed = chunk if self._lines is None else self._lines.passed(chunk)
                    await send({"type": "http.response.body", "body": passed, "more_body": True})
                    self._note(text)
        except GatewayError as error:
            self.error = str(error)
            if self._lines is None:
                return False
            last = self._lines.ended() + error.event()
            await send({"type": "http.response.body", "body": last, "more_body": True})
        else:
            if self._lines is not None and (rest := self._lines.rest):
                await send({"type": "http.response.body", "body": rest, "more_body": True})
        return True

    async def _read(self, chunk: bytes) -> str:
        """Read a chunk, with pauses for others; returns the answer's new text."""
        texts: list[str] = []
        for number, piece in enumerate(self._decode(chunk) if self._decode else ()):
            if number:
                await asyncio.sleep(0)
            texts.append(self._gatherer.feed(piece))
        if self.gathered.is_whole:
            self.on_end()
        return "".join(texts)

    def _note(self, text: str) -> None:
        if text:
            self.on_text(text)


async def end(send: Send) -> None:
    """End a body."""
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def read_all(answer: Answer, most_bytes: int) -> bytes:
    """All of a short body, decompressed; empty if it broke off or is too large."""
    decode = decoder(answer.encoding)
    body = bytearray()
    try:
        async for chunk in answer.chunks():
            for piece in [chunk] if decode is None else decode(chunk):
                body += piece
                if len(body) > most_bytes:
                    return b""
    except GatewayError:
        return b""
    finally:
        await answer.aclose()
    return bytes(body)


class EventLines:
    """Passes bytes of a stream on, with line ends of Unicode as JSON escapes them.

    JSON has such a character only within a text, where it means the same as its escape. An event
    ends its lines with CR and LF, but some clients split at every line end that Unicode knows: a
    text with one would then begin an event of its own.

    Attributes:
        rest: Bytes that may begin such a character and wait for the next chunk.
    """

    def __init__(self) -> None:
        self.rest = b""
        self._tail = b""

    def passed(self, chunk: bytes) -> bytes:
        """The bytes to pass on."""
        came = self.rest + chunk
        half = _HALF_LINE_END.search(came, max(len(came) - 2, 0))
        self.rest = half[0] if half else b""
        whole = came[: len(came) - len(self.rest)]
        passed = _LINE_END.sub(_escaped, whole)
        self._tail = (self._tail + passed[-_TAIL:])[-_TAIL:]
        return passed

    def ended(self) -> bytes:
        """The bytes to add so that an event can follow an answer that broke off."""
        rest, self.rest = self.rest, b""
        if not rest and (not self._tail or _BLANK_LINE.search(self._tail)):
            return b""
        return rest + b"\n\n"


def _escaped(found: re.Match[bytes]) -> bytes:
    return f"\\u{ord(found[0].decode()):04x}".encode()
