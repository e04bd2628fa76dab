"""Passes a provider's answer on to the client, and reads it at the same time."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field

from starlette.types import Send

from smart_context.gateway.answers.gathered import BodyGatherer, GatheredAnswer, StreamGatherer
from smart_context.gateway.answers.unpacked import decoder
from smart_context.gateway.edge.coalesced import coalesced
from smart_context.gateway.edge.errors import GatewayError
from smart_context.gateway.edge.event_lines import EventLines
from smart_context.gateway.edge.upstream import ProviderAnswer
from smart_context.gateway.turns.answer_headers import Headers


@dataclass(eq=False)
class Relay:
    """One answer that is passed on."""

    answer: ProviderAnswer  # the provider's answer
    headers: Headers  # headers to add to the provider's
    on_text: Callable[[str], None] = lambda _text: None  # called with new text of the answer
    on_end: Callable[[], None] = lambda: None  # called before the client sees the end
    error: str = field(default="", init=False)  # why it broke off; empty if it did not

    def __post_init__(self) -> None:
        self._decode = decoder(self.answer.encoding)
        # After a part of a compressed body, we can't add anything.
        is_plain = self.answer.encoding.strip().lower() in {"", "identity"}
        self._lines = EventLines() if self.answer.is_stream and is_plain else None
        self._gatherer = StreamGatherer() if self.answer.is_stream else BodyGatherer()

    @property
    def gathered(self) -> GatheredAnswer:
        """The answer, as far as it has arrived."""
        return self._gatherer.answer

    async def run(self, send: Send) -> bool:
        """Pass on everything but the end; returns True if the end may follow.

        A body that broke off gets no end, so that the client sees that it is incomplete; only a
        plain stream of events does, after an event with the error.
        """
        try:
            return await self._pass_on(send)
        finally:
            await self.answer.aclose()
            self._note(self._gatherer.close())

    async def _pass_on(self, send: Send) -> bool:
        # The end waits until the answer is saved; a known length would reveal it earlier.
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
        """Read a chunk, with pauses for other tasks; returns the answer's new text."""
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


async def read_all(answer: ProviderAnswer, most_bytes: int) -> bytes:
    """The whole short body, decompressed; empty if it broke off or is too large."""
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
