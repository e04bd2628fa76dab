"""Locks that end with the process which holds them, even if it is killed.

They are advisory: others can still read and write a locked file.
"""

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from typing import cast

from smart_context.base.disk.folders import Folder

_TRIES = 200
_PAUSE_S = 0.01

if sys.platform == "win32":
    import ctypes
    import hashlib
    import msvcrt
    import struct
    import tempfile
    from pathlib import Path

    _kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    _FAIL_AT_ONCE, _EXCLUSIVE = 1, 2  # flags of LockFileEx
    _ERROR_LOCK_VIOLATION = 33
    # OVERLAPPED. Others can't read or write the locked byte, so it lies beyond the end of any file.
    _WHERE = struct.pack("@2P2IP", 0, 0, 0, 1 << 30, 0)

    def try_lock(descriptor: int, *, shared: bool = False) -> bool:
        """Lock the file until it is closed; false if another opener has locked it.

        With `shared`, false only if the other lock is exclusive. True where the file system has no
        locks.
        """
        flags = _FAIL_AT_ONCE if shared else _FAIL_AT_ONCE | _EXCLUSIVE
        if _kernel.LockFileEx(_handle(descriptor), flags, 0, 1, 0, _WHERE):
            return True
        return ctypes.get_last_error() != _ERROR_LOCK_VIOLATION

    def unlock(descriptor: int) -> None:
        """Unlock the file before it is closed."""
        _kernel.UnlockFileEx(_handle(descriptor), 0, 1, 0, _WHERE)

    def _handle(descriptor: int) -> ctypes.c_void_p:
        return ctypes.c_void_p(msvcrt.get_osfhandle(descriptor))

    @contextlib.contextmanager
    def _lockable(folder: Folder) -> Iterator[int]:
        """A file of the user's in place of the folder, since Windows can't open folders."""
        path = os.path.normcase(folder.path.resolve())
        digest = hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        name = Path(tempfile.gettempdir()) / f"smart-context-{digest}.lock"
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

else:
    import fcntl

    def try_lock(descriptor: int, *, shared: bool = False) -> bool:
        """Lock the file until it is closed; false if another opener has locked it.

        With `shared`, false only if the other lock is exclusive. True where the file system has no
        locks.
        """
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True

    def unlock(descriptor: int) -> None:
        """Unlock the file before it is closed."""
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)

    @contextlib.contextmanager
    def _lockable(folder: Folder) -> Iterator[int]:
        yield cast("int", folder.descriptor)  # POSIX systems open folders


@contextlib.contextmanager
def locked(folder: Folder) -> Iterator[None]:
    """Keep other processes of ours out of the folder during the `with` block.

    If the system has no such lock, or another process has held it for two seconds, the block
    runs without it.
    """
    with _lockable(folder) as descriptor:
        _wait_for(descriptor)
        try:
            yield
        finally:
            unlock(descriptor)


def _wait_for(descriptor: int) -> None:
    pause = threading.Event()
    for _ in range(_TRIES):
        if try_lock(descriptor):
            return
        pause.wait(_PAUSE_S)
