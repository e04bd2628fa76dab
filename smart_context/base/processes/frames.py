"""Frames between this program and its child: four bytes of length, then the rest."""

import struct
from typing import BinaryIO

_LENGTH = struct.Struct(">I")


def write_frame(stream: BinaryIO, content: bytes) -> None:
    """Send one frame; raises `OSError` if the other side is gone."""
    stream.write(_LENGTH.pack(len(content)))
    stream.write(content)
    stream.flush()


def read_frame(stream: BinaryIO, max_bytes: int) -> bytes:
    """Receive one frame.

    Raises:
        EOFError: If the other side ended, or its frame is longer than `max_bytes`.
    """
    (length,) = _LENGTH.unpack(_read_exactly(stream, _LENGTH.size))
    if length > max_bytes:
        raise EOFError(f"a frame of {length} bytes is longer than {max_bytes}")
    return _read_exactly(stream, length)


def _read_exactly(stream: BinaryIO, count: int) -> bytes:
    content = stream.read(count)
    if len(content) < count:
        raise EOFError("the other side ended")
    return content
