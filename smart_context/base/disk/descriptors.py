"""Opens and reads a single file: flags, errors, and reading by descriptor."""

import errno
import os
import sys
from pathlib import Path

if sys.platform == "darwin":
    import fcntl

OPEN_FLAGS = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a FIFO must not block the thread for ever
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
"""Follows no link as the last name, and waits for nothing."""

_SPECIAL = {  # the errors for a link, a socket, or a pipe without a reader
    errno.ELOOP,
    errno.EMLINK,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ENXIO,
    errno.EOPNOTSUPP,
    getattr(errno, "EFTYPE", errno.ELOOP),  # NetBSD
}
_BLOCK = 1 << 20


class NotPlain(OSError):
    """Not a plain file, or not a plain folder, such as a link, a pipe or a device."""

    def __init__(self, path: Path, wanted: str = "file") -> None:
        self.wanted = wanted
        other = "folder" if wanted == "file" else "file"
        super().__init__(
            errno.ELOOP, f"not a plain {wanted} (a link, a {other} or a device)", str(path)
        )

    def __str__(self) -> str:
        return f"{self.filename} is {self.strerror}"


class TooLarge(OSError):
    """A file with more bytes than its reader accepts."""

    def __init__(self, size: int, max_bytes: int) -> None:
        self.size = size
        super().__init__(errno.EFBIG, f"holds {size:,} bytes; at most {max_bytes:,} are read")

    def __str__(self) -> str:
        return f"it {self.strerror}"


def read_open(descriptor: int, size: int, max_bytes: int) -> bytes:
    """The content of an open file, even if it grows meanwhile.

    Args:
        descriptor: The file's descriptor, at its beginning.
        size: The size in its status.
        max_bytes: At most one byte more than this is read.

    Raises:
        TooLarge: It has more.
        OSError: The system refuses.
    """
    if size > max_bytes:
        raise TooLarge(size, max_bytes)
    content = os.read(descriptor, size + 1)
    if len(content) == size:
        return content
    pieces, length = [content], len(content)
    while length <= max_bytes and (
        piece := os.read(descriptor, min(max_bytes + 1 - length, _BLOCK))
    ):
        pieces.append(piece)
        length += len(piece)
    if length > max_bytes:
        raise TooLarge(length, max_bytes)
    return b"".join(pieces)


def path_of_open(descriptor: int) -> str | None:
    """The path of an open file without any link; `None` if the system can't tell."""
    try:
        if sys.platform == "darwin":
            found = fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024))
            return os.fsdecode(found.rstrip(b"\0"))
        return os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115 - a path costs more
    except OSError:
        return None


def explained(error: OSError, path: Path, wanted: str) -> OSError:
    """The error of opening a file, as `NotPlain` if it means that."""
    return NotPlain(path, wanted) if error.errno in _SPECIAL else error
