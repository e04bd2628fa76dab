"""Claims of answers: the process that writes an answer keeps its journal open and locked."""

import contextlib
import errno
import os
import sys
import threading
from pathlib import Path

from smart_context.base.disk.folders import (
    MOVES_OPEN_FILES,
    Folder,
    opened,
)
from smart_context.base.disk.locks import try_lock, unlock
from smart_context.base.disk.places import Place, place_of
from smart_context.storage.ports import AnswerClaimed

MAX_JOURNAL_BYTES = 32 << 20
"""The most bytes of an answer that are read after a crash."""

RESERVED_BYTES = 64 << 10
"""The room that is reserved on the disk for further pieces: twice a usual answer."""

_PAUSE_S = 0.01
_FLAGS = os.O_RDWR | os.O_CREAT


class AnswerClaim:
    """The locked file of a journal; the lock ends with `release`, or with the process."""

    def __init__(self, place: Place, descriptor: int) -> None:
        self._place = place
        self._descriptor: int | None = descriptor
        self._size = os.fstat(descriptor).st_size
        self._reserved: int | None = None

    def read(self) -> bytes:
        """The file's content; raises `OSError` if the system refuses, or the claim was released."""
        descriptor = self._held()
        os.lseek(descriptor, 0, os.SEEK_SET)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(min(self._size, MAX_JOURNAL_BYTES))

    def append(self, content: bytes) -> None:
        """Append all of `content`, or leave the file as it was.

        Raises:
            OSError: If the disk refuses, or the claim was released.
        """
        descriptor, rest = self._held(), content
        end = self._size + len(content)
        if self._reserved is not None and end + RESERVED_BYTES // 2 > self._reserved:
            self.reserve(end)
        os.lseek(descriptor, self._size, os.SEEK_SET)
        try:
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        except OSError:
            os.ftruncate(descriptor, max(self._size, self._reserved or 0))
            raise
        self._size = end

    def reserve(self, end: int = 0) -> None:
        """Reserve room on the disk for the next 64 KiB, which even a full disk then takes.

        `append` reserves more in time. Where there is no room, or the system can't, nothing
        happens. The file ends in zeros meanwhile; readers after a crash skip them.

        Args:
            end: The size that the content is going to have, if larger than now.
        """
        wanted = max(end, self._size) + RESERVED_BYTES
        self._reserved = self._reserved or 0
        if sys.platform == "linux":
            with contextlib.suppress(OSError):
                os.posix_fallocate(self._held(), 0, wanted)
                self._reserved = wanted

    def clear(self) -> None:
        """Empty the file; raises `OSError` if the system refuses, or the claim was released."""
        os.ftruncate(self._held(), 0)
        self._size, self._reserved = 0, None

    def release(self) -> None:
        """Let others claim the answer; the file stays, unless it is empty."""
        if self._size == 0:
            self.remove()
        elif self._reserved and self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
        self._close()

    def remove(self) -> None:
        """Remove the file and release it."""
        if self._descriptor is not None:
            self._unlink()
        self._close()

    def _unlink(self) -> None:
        if not MOVES_OPEN_FILES:
            self._close()
        with contextlib.suppress(OSError), opened(self._place.parent) as folder:
            folder.remove(self._place.name)  # while claimed: a later file is another's

    def _close(self) -> None:
        if self._descriptor is not None:
            unlock(self._descriptor)  # Windows releases it only some time after the file is closed
            os.close(self._descriptor)
            self._descriptor = None

    def _held(self) -> int:
        if self._descriptor is None:
            raise OSError(errno.EBADF, "the answer is no longer claimed")
        return self._descriptor


def claim_answer(path: Path | Place, *, patience_s: float = 0.0) -> AnswerClaim:
    """Claim the answer of the chat whose journal is at `path`; makes the folder.

    Args:
        path: The journal; made when it is missing.
        patience_s: Seconds to wait for a process that holds or inspects it.

    Raises:
        AnswerClaimed: If another process has it.
        OSError: If the file can't be opened, or is a link, a folder or a device.
    """
    place = place_of(path)
    pause = threading.Event()
    for _ in range(1 + round(patience_s / _PAUSE_S)):
        with opened(place.parent, make=True) as folder:
            descriptor = folder.open(place.name, _FLAGS)
            if _is_ours(folder, place.name, descriptor):
                return AnswerClaim(place, descriptor)
            os.close(descriptor)
        pause.wait(_PAUSE_S)
    raise AnswerClaimed(str(path))


def is_claimed(path: Path | Place) -> bool:
    """True if a process is writing to the journal at `path`."""
    place = place_of(path)
    with contextlib.suppress(OSError), opened(place.parent) as folder:
        descriptor = folder.open(place.name)
        try:
            return not try_lock(descriptor, shared=True)
        finally:
            os.close(descriptor)
    return False


def _is_ours(folder: Folder, name: str, descriptor: int) -> bool:
    """Lock the file; False if another process has locked it, or removed it meanwhile."""
    if not try_lock(descriptor):
        return False
    try:
        return os.path.samestat(os.fstat(descriptor), folder.status(name))
    except FileNotFoundError:
        return False
