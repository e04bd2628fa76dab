"""One file's text, or why there is none."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MAX_TEXT_BYTES: Final = 64 << 20
"""No note and no source file is larger; what is, is not read as text."""

SIGNED: Final = (1 << 63) - 1
"""The bits of an inode's number that count: what a database takes for an integer."""

_NO_BLOCK: Final = getattr(os, "O_NONBLOCK", 0)
_BINARY: Final = getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class FileText:
    """What a file holds.

    Attributes:
        text: Its text, as it stands in the file; line ends and a byte order mark included.
        mtime_ns: When it was last changed, in ns.
        size: Its length in bytes.
        inode: Its number on the disk.
    """

    text: str
    mtime_ns: int
    size: int
    inode: int


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a file has no text for us.

    Attributes:
        reason: In words for people, without the path.
        size: Its length in bytes when that is why; else `None`.
    """

    reason: str
    size: int | None = None


def read_text(
    path: str | Path, *, max_bytes: int = MAX_TEXT_BYTES, is_plain: bool = False
) -> FileText | Unreadable:
    """The text of a regular file in UTF-8; never raises for what it finds there.

    Args:
        path: Links are followed: whether they may be is the caller's question.
        max_bytes: A larger file is not opened.
        is_plain: The caller has just seen that it is a regular file, and of what size.
    """
    try:
        if not is_plain and (refusal := _refusal(os.stat(path), max_bytes)):  # noqa: PTH116 — fast
            return refusal
        return _read(path, max_bytes)
    except UnicodeDecodeError as error:
        return Unreadable(f"not UTF-8 text (byte {error.start})")
    except OSError as error:
        return Unreadable(error.strerror or type(error).__name__)
    except ValueError:
        return Unreadable("not a possible file name")


def _read(path: str | Path, max_bytes: int) -> FileText | Unreadable:
    """Opened without blocking, and looked at again: the file may have been exchanged since."""
    descriptor = os.open(path, os.O_RDONLY | _NO_BLOCK | _BINARY)
    try:
        status = os.fstat(descriptor)
        if refusal := _refusal(status, max_bytes):
            return refusal
        content = os.read(descriptor, status.st_size + 1)
        if len(content) != status.st_size:
            content = _read_on(descriptor, content, max_bytes)
            if len(content) > max_bytes:
                return _too_big(len(content))
    finally:
        os.close(descriptor)
    if b"\0" in content:
        return Unreadable("binary file")
    return FileText(content.decode(), status.st_mtime_ns, status.st_size, status.st_ino & SIGNED)


def _read_on(descriptor: int, content: bytes, max_bytes: int) -> bytes:
    pieces = [content]
    length = len(content)
    while length <= max_bytes and (piece := os.read(descriptor, 1 << 20)):
        pieces.append(piece)
        length += len(piece)
    return b"".join(pieces)


def _refusal(status: os.stat_result, max_bytes: int) -> Unreadable | None:
    if stat.S_ISDIR(status.st_mode):
        return Unreadable("Is a directory")
    if not stat.S_ISREG(status.st_mode):
        return Unreadable("not a regular file")
    return _too_big(status.st_size) if status.st_size > max_bytes else None


def _too_big(size: int) -> Unreadable:
    return Unreadable(f"file size {size} bytes exceeds {MAX_TEXT_BYTES}", size=size)
