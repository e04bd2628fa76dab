"""Reading and writing whole files so that nobody ever sees half of one.

Everything here blocks; callers run it in a worker thread.
"""

import contextlib
import errno
import os
import re
import secrets
import stat
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from smart_context.disk.locks import try_lock
from smart_context.errors import StoreFailed

MAX_FILE_BYTES = 256 * 1024 * 1024
_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}\.tmp", re.DOTALL)
_STALE_S = 3600
_LOCK_TRIES = 200
_LOCK_PAUSE_S = 0.01
_OPEN_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a FIFO by that name must not block the thread for ever
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


class Signature(NamedTuple):
    """Tells two states of a file apart without reading them."""

    mtime_ns: int
    size: int
    inode: int


class Conflict(Exception):
    """The file is no longer the one that the writer has read."""


def signature_of(path: Path) -> Signature | None:
    """The state of a plain file; `None` when there is none.

    Raises:
        StoreFailed: The system refuses to say, or it is a link, a folder or a device.
    """
    try:
        found = path.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _could_not("read", path, error) from error
    return _signature(_plain(path, found))


def read_file(path: Path) -> tuple[Signature, bytes] | None:
    """The bytes of a plain file with the state they belong to; `None` when there is no file.

    Raises:
        StoreFailed: No permission, a failing disk, more than 256 MiB, or it is a link, a folder
            or a device. Nothing was moved.
    """
    try:
        descriptor = os.open(path, _OPEN_FLAGS)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _could_not("read", path, error) from error
    try:
        found = _plain(path, os.fstat(descriptor))
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            if found.st_size > MAX_FILE_BYTES:
                raise StoreFailed(
                    f"{path} holds {found.st_size:,} bytes; at most {MAX_FILE_BYTES:,} are read. "
                    "Move it elsewhere or split it."
                )
            return _signature(found), file.read()
    except OSError as error:
        raise _could_not("read", path, error) from error
    finally:
        os.close(descriptor)


def atomic_write(path: Path, content: bytes) -> Signature:
    """Write the whole file; a reader sees the old or the new one, also after a crash.

    The folder is made when it is missing.

    Returns:
        The state of what was written.

    Raises:
        StoreFailed: The disk is full, read-only or failing; the old file is intact.
    """
    with _explained(path), _temporary(path, content) as (temporary, written):
        temporary.replace(path)
        fsync_folder(path.parent)
    return written


def replace_unless_changed(path: Path, content: bytes, expected: Signature | None) -> Signature:
    """Like `atomic_write`, but only while the file is still in the `expected` state.

    Args:
        path: The file.
        content: All that it shall hold.
        expected: The state that `content` was derived from; `None` for "there is no file".

    Raises:
        Conflict: Another program has written it since; nothing was changed.
        StoreFailed: As for `atomic_write`.
    """
    with _explained(path), _temporary(path, content) as (temporary, written):
        with locked(path.parent):
            if signature_of(path) != expected:
                raise Conflict(str(path))
            temporary.replace(path)
        fsync_folder(path.parent)
    return written


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes of ours out of the folder for the few calls inside.

    Where the system has no such lock, or another process has held it for two seconds, the
    calls go ahead without it.
    """
    if sys.platform == "win32":  # folders can't be opened there
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _wait_for_lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def fsync_folder(folder: Path) -> None:
    """Make the names in a folder durable, where the system can."""
    with contextlib.suppress(OSError):  # Windows and some network folders can't; the rename stands
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def is_temporary(file_name: str) -> bool:
    """Whether the name is that of a write in progress, or of one that a crash cut short."""
    return _TEMPORARY.fullmatch(file_name) is not None


def sweep(folder: Path) -> None:
    """Remove what writers that were killed more than an hour ago left behind."""
    oldest = time.time() - _STALE_S
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if is_temporary(entry.name) and entry.stat(follow_symlinks=False).st_mtime < oldest:
                Path(entry.path).unlink(missing_ok=True)


@contextlib.contextmanager
def _temporary(path: Path, content: bytes) -> Iterator[tuple[Path, Signature]]:
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = _mode_to_keep(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as file:
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            written = _signature(os.fstat(file.fileno()))
        yield temporary, written
    finally:
        temporary.unlink(missing_ok=True)


def _mode_to_keep(path: Path) -> int | None:
    # A rename needs no right on the file itself, and root needs none at all: whoever marked a
    # file or its folder read-only is asked for nothing else.
    _refuse_marked(path.parent, path.parent.stat().st_mode)
    try:
        mode = path.stat(follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None
    _refuse_marked(path, mode)
    return stat.S_IMODE(mode)


def _refuse_marked(path: Path, mode: int) -> None:
    if not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(errno.EACCES, f"{path.name} is marked read-only", str(path))


def _wait_for_lock(descriptor: int) -> None:
    pause = threading.Event()
    for _ in range(_LOCK_TRIES):
        if try_lock(descriptor):
            return
        pause.wait(_LOCK_PAUSE_S)


def _plain(path: Path, found: os.stat_result) -> os.stat_result:
    if not stat.S_ISREG(found.st_mode):
        raise StoreFailed(
            f"{path} is not a plain file (a link, a folder or a device). Put the file itself there."
        )
    return found


def _signature(found: os.stat_result) -> Signature:
    return Signature(found.st_mtime_ns, found.st_size, found.st_ino)


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _could_not("written", path, error) from error


def _could_not(verb: str, path: Path, error: OSError) -> StoreFailed:
    kept = "What was there before is unchanged." if verb == "written" else "Nothing was changed."
    reason = error.strerror or str(error)
    advice = _ADVICE.get(error.errno or 0, "Check the folder and try again.")
    return StoreFailed(f"{path} could not be {verb}: {reason}. {kept} {advice}")


_ADVICE = {
    errno.ENOSPC: "The disk is full: free some space and try again.",
    errno.EDQUOT: "Your disk quota is used up: free some space and try again.",
    errno.EFBIG: "The file would be larger than this system allows.",
    errno.EROFS: "The disk is mounted read-only.",
    errno.EACCES: "Check who may read and write the file and its folder.",
    errno.EPERM: "Check who may read and write the file and its folder.",
    errno.ELOOP: "It is a link; put the file itself there.",
}
