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
        png: The picture; all frames have the same size and kind of colours.
        shown_ms: How long it is shown.
    """

    png: bytes
    shown_ms: int


def apng(frames: Sequence[Frame]) -> bytes:
    """A moving PNG that is repeated without end; programs that know none show its first frame.

    Raises:
        ValueError: There are no frames, or they differ in size or colours.
    """
    heads = {next(_chunks(frame.png)) for frame in frames}
    if len(heads) != 1:
        raise ValueError(f"expected frames of one size, found {len(heads)} sizes")
    ((_, head),) = heads
    width, height = struct.unpack(">II", head[:8])
    made = [_SIGNATURE, _chunk(b"IHDR", head), _chunk(b"acTL", struct.pack(">II", len(frames), 0))]
    number = 0
    for place, frame in enumerate(frames):
        shown = (number, width, height, 0, 0, frame.shown_ms, 1000, 0, 0)
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
