"""Joins pictures into one moving PNG."""

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_SIGNATURE = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One picture of a moving one.

    Attributes:
        png: The picture; all frames have the same kind of colours.
        shown_ms: How long it is shown.
        at: Where its upper left corner is on the first frame, all of which it need not cover.
    """

    png: bytes
    shown_ms: int
    at: tuple[int, int] = (0, 0)


def apng(frames: Sequence[Frame]) -> bytes:
    """A moving PNG that is repeated without end; programs that know none show its first frame.

    Raises:
        ValueError: There are no frames, one is not within the first, or their colours differ.
    """
    if not frames or frames[0].at != (0, 0):
        raise ValueError("expected a first frame at (0, 0)")
    heads = [next(_chunks(frame.png))[1] for frame in frames]
    whole = struct.unpack(">II", heads[0][:8])
    made = [_SIGNATURE, _chunk(b"IHDR", heads[0])]
    made.append(_chunk(b"acTL", struct.pack(">II", len(frames), 0)))
    number = 0
    for place, (frame, head) in enumerate(zip(frames, heads, strict=True)):
        size = struct.unpack(">II", head[:8])
        ends = zip(frame.at, size, whole, strict=True)
        if head[8:] != heads[0][8:] or not all(0 <= at <= all_ - own for at, own, all_ in ends):
            raise ValueError(f"frame {place}: {size} at {frame.at} does not fit on {whole}")
        shown = (number, *size, *frame.at, frame.shown_ms, 1000, 0, 0)
        made.append(_chunk(b"fcTL", struct.pack(">IIIIIHHBB", *shown)))
        number += 1
        for kind, data in _chunks(frame.png):
            if kind == b"IDAT" and place == 0:
                made.append(_chunk(kind, data))
            elif kind == b"IDAT":
                made.append(_chunk(b"fdAT", struct.pack(">I", number) + data))
                number += 1
    return b"".join((*made, _chunk(b"IEND", b"")))


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(_SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += length + 12


def _chunk(kind: bytes, data: bytes) -> bytes:
    crc = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)
