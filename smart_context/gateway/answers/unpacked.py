"""Unpacks compressed answers in small steps."""

import zlib
from collections.abc import Callable, Iterator

MAX_UNPACKED = 64 << 20
"""The maximum decompressed bytes of an answer that are read; all of it is passed on."""

_UNPACKED_AT_ONCE = 64 << 10

Decoder = Callable[[bytes], Iterator[bytes]]
"""Decompresses a provider's answer, chunk by chunk, in small pieces."""


def decoder(encoding: str) -> Decoder | None:
    """The decompressor for a `Content-Encoding`; `None` for an unknown one."""
    name = encoding.strip().lower()
    if name in {"", "identity"}:
        return _as_it_is
    if name in {"gzip", "x-gzip", "deflate"}:
        return _Unpacked(zlib.MAX_WBITS | 32 if name != "deflate" else zlib.MAX_WBITS)
    return None


class _Unpacked:
    """Unpacks chunks; stops after `MAX_UNPACKED` bytes, or at damaged data."""

    def __init__(self, wbits: int) -> None:
        self._unzip = zlib.decompressobj(wbits=wbits)
        self._left = MAX_UNPACKED

    def __call__(self, chunk: bytes) -> Iterator[bytes]:
        while chunk and self._left > 0:
            try:
                piece = self._unzip.decompress(chunk, _UNPACKED_AT_ONCE)
            except zlib.error:
                self._left = 0
                return
            chunk = self._unzip.unconsumed_tail
            self._left -= len(piece)
            yield piece


def _as_it_is(chunk: bytes) -> Iterator[bytes]:
    yield chunk
