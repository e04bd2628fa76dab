"""Reads and writes whole files, so that no reader ever sees half of one.

A file is a path chosen by the user, or a place below a trusted folder (`base/disk/places.py`).
Files made at a place are readable by their owner only; files made at a path follow the umask.

Everything here blocks; callers run it in a worker thread.
"""

import contextlib
import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from smart_context.base.disk.folders import (
    MOVES_OPEN_FILES,
    PRIVATE_FILE,
    Folder,
    NotPlain,
    TooLarge,
    opened,
)
from smart_context.base.disk.locks import locked, try_lock
from smart_context.base.disk.places import Place, folder_of, place_of
from smart_context.base.errors import StoreFailed
from smart_context.base.text.names import shown


def could_not(verb: str, path: Path | Place, error: OSError) -> StoreFailed:
    """The error for users when a file could not be `read` or `written`."""
    name = shown(path)
    if isinstance(error, NotPlain):
        return StoreFailed(
            f"{shown(error.filename)} is {error.strerror}. Put the {error.wanted} itself there."
        )
    if isinstance(error, TooLarge):
        return StoreFailed(f"{name} {error.strerror}. Move it elsewhere or split it.")
    kept = "What was there before is unchanged." if verb == "written" else "Nothing was changed."
    reason = error.strerror or str(error)
    return StoreFailed(f"{name} could not be {verb}: {reason}. {kept} {advice(error)}")


def advice(error: Exception) -> str:
    """The advice for a user when the disk refuses."""
    number = error.errno if isinstance(error, OSError) else None
    return _ADVICE.get(number or 0, "Check the folder and try again.")


_ADVICE = {
    errno.ENOSPC: "The disk is full: free some space and try again.",
    errno.EDQUOT: "Your disk quota is used up: free some space and try again.",
    errno.EFBIG: "The file would be larger than this system allows.",
    errno.EROFS: "The disk is mounted read-only.",
    errno.EACCES: "Check who may read and write the file and its folder.",
    errno.EPERM: "Check who may read and write the file and its folder.",
    errno.ELOOP: "It is a link; put the file itself there.",
}


MAX_FILE_BYTES = 256 * 1024 * 1024
_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}\.tmp", re.DOTALL)
_STALE_S = 60
"""An unlocked temporary file of this age has no writer; a younger one may not be locked yet."""
_STALE_WITHOUT_LOCKS_S = 3600
"""As `_STALE_S`, where files can't be locked."""
_PUBLIC_FILE = 0o666  # minus the umask


class Signature(NamedTuple):
    """Tells two states of a file apart without reading them."""

    mtime_ns: int
    size: int
    inode: int


class FileReplaced(Exception):
    """The file changed since the writer read it."""


def signature_of(path: Path | Place) -> Signature | None:
    """The state of a plain file; `None` when there is none.

    Raises:
        StoreFailed: The system refuses to say, or it is a link, a folder or a device.
    """
    place = place_of(path)
    try:
        with opened(place.parent) as folder:
            return signature_in(folder, place.name)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise could_not("read", path, error) from error


def signature_of_open(descriptor: int) -> Signature:
    """The state of an open file."""
    return _signature(os.fstat(descriptor))


def signature_in(folder: Folder, name: str) -> Signature | None:
    """As `signature_of`, in an open folder; raises `OSError` where that raises `StoreFailed`."""
    try:
        status = folder.status(name)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise NotPlain(folder.path / name)
    return _signature(status)


def read_file(
    path: Path | Place, *, max_bytes: int = MAX_FILE_BYTES
) -> tuple[Signature, bytes] | None:
    """The bytes of a plain file with its state; `None` when there is no file.

    Raises:
        StoreFailed: No permission, a failing disk, more than `max_bytes`, or it is a link, a
            folder or a device. Nothing was moved.
    """
    place = place_of(path)
    try:
        with opened(place.parent) as folder:
            return read_in(folder, place.name, max_bytes=max_bytes)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise could_not("read", path, error) from error


def read_in(
    folder: Folder, name: str, *, max_bytes: int = MAX_FILE_BYTES
) -> tuple[Signature, bytes]:
    """As `read_file`, in an open folder; raises `OSError` as `Folder.read`."""
    status, content = folder.read(name, max_bytes)
    return _signature(status), content


def open_file(path: Path | Place, flags: int) -> int:
    """The descriptor of a plain file, for its caller to close.

    `O_CREAT` also makes its folder.

    Raises:
        OSError: As `Folder.open`.
    """
    place = place_of(path)
    with opened(place.parent, make=bool(flags & os.O_CREAT)) as folder:
        return folder.open(place.name, flags)


def remove_file(path: Path | Place) -> None:
    """Remove a file, or a link itself; does nothing if there is none.

    Raises:
        OSError: The system refuses.
    """
    place = place_of(path)
    with contextlib.suppress(FileNotFoundError), opened(place.parent) as folder:
        folder.remove(place.name)


def atomic_write(path: Path | Place, content: bytes | Iterable[bytes]) -> Signature:
    """Write the whole file; a reader sees the old or the new one, also after a crash.

    The folder is made when it is missing.

    Args:
        content: The bytes, whole or in pieces.

    Returns:
        The state of the written file.

    Raises:
        StoreFailed: The disk is full, read-only or failing, or a link, a folder or a device has
            that name; the old file is intact.
    """
    pieces = [content] if isinstance(content, bytes) else content
    with _replacing(path, pieces) as new:
        new.take_its_name()
    return new.written


def replace_unless_changed(
    path: Path | Place,
    content: bytes,
    expected: Signature | None,
    written: Callable[[Signature], None] = lambda _: None,
    sync: Callable[[Folder], None] = Folder.sync,
) -> Signature:
    """Like `atomic_write`, but only while the file is still in the `expected` state.

    Args:
        expected: The state that `content` was derived from; `None` for no file.
        written: Called with the new state right before readers can see it.
        sync: Makes the new name durable.

    Raises:
        Conflict: Another program has written it since; nothing was changed.
        StoreFailed: As for `atomic_write`.
    """
    with _replacing(path, [content], sync) as new, locked(new.folder):
        if signature_in(new.folder, new.name) != expected:
            raise FileReplaced(str(path))
        written(new.written)
        new.take_its_name()
    return new.written


def is_temporary(file_name: str) -> bool:
    """True for the name of a write in progress, or of one that a crash interrupted."""
    return _TEMPORARY.fullmatch(file_name) is not None


def sweep(path: Path | Place) -> None:
    """Remove temporary files left by killed writers, once they are a minute old.

    A file whose writer lives is locked and stays, however old it is; where files can't be locked,
    those of the last hour stay. Looks in the folder and its direct subfolders; follows no
    link.
    """
    now = time.time()
    with contextlib.suppress(OSError), opened(folder_of(path)) as folder:
        _sweep(folder, now)
        for name in folder.names():
            with contextlib.suppress(OSError):
                if stat.S_ISDIR(folder.status(name).st_mode):
                    with folder.folder(name) as inner:
                        _sweep(inner, now)


def _sweep(folder: Folder, now: float) -> None:
    for name in filter(is_temporary, folder.names()):
        with contextlib.suppress(OSError):
            status = folder.status(name)
            age = now - status.st_mtime
            if stat.S_ISREG(status.st_mode) and age > _STALE_S and _is_left(folder, name, age):
                folder.remove(name)


def _is_left(folder: Folder, name: str, age: float) -> bool:
    """True if no process writes the temporary file any more."""
    with os.fdopen(folder.open(name)) as ours, os.fdopen(folder.open(name)) as other:
        if not try_lock(ours.fileno()):
            return False
        can_lock = not try_lock(other.fileno())
        return can_lock or age > _STALE_WITHOUT_LOCKS_S


class _New:
    """A file that is completely written but not renamed yet."""

    def __init__(self, folder: Folder, name: str, temporary: str, written: Signature) -> None:
        self.folder = folder
        self.name = name
        self.written = written
        self._temporary = temporary

    def take_its_name(self) -> None:
        self.folder.move(self._temporary, self.folder, self.name)


@contextlib.contextmanager
def _replacing(
    path: Path | Place, pieces: Iterable[bytes], sync: Callable[[Folder], None] = Folder.sync
) -> Iterator[_New]:
    place = place_of(path)
    mode = PRIVATE_FILE if isinstance(path, Place) else _PUBLIC_FILE
    try:
        with (
            opened(place.parent, make=True) as folder,
            _temporary(folder, place.name, mode, pieces) as new,
        ):
            yield new
            sync(folder)
    except OSError as error:
        raise could_not("written", path, error) from error


@contextlib.contextmanager
def _temporary(folder: Folder, name: str, mode: int, pieces: Iterable[bytes]) -> Iterator[_New]:
    kept = _mode_to_keep(folder, name)
    temporary = f".{name}.{secrets.token_hex(4)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        with os.fdopen(folder.open(temporary, flags, mode), "wb") as file:
            try_lock(file.fileno())  # until it is closed, or its writer is killed: see `sweep`
            if kept is not None and hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), kept)
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
            written = signature_of_open(file.fileno())
            if MOVES_OPEN_FILES:
                yield _New(folder, name, temporary, written)
        if not MOVES_OPEN_FILES:
            yield _New(folder, name, temporary, written)
    finally:
        with contextlib.suppress(OSError):
            folder.remove(temporary)


def _mode_to_keep(folder: Folder, name: str) -> int | None:
    # A rename needs no permission on the file itself, and root needs none at all; so check the
    # mode of a file or folder that was marked read-only.
    _refuse_marked(folder.path, folder.own_status().st_mode)
    try:
        mode = folder.status(name).st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise NotPlain(folder.path / name)
    _refuse_marked(folder.path / name, mode)
    return stat.S_IMODE(mode)


def _refuse_marked(path: Path, mode: int) -> None:
    if not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(errno.EACCES, f"{path.name} is marked read-only", str(path))


def _signature(found: os.stat_result) -> Signature:
    return Signature(found.st_mtime_ns, found.st_size, found.st_ino)
