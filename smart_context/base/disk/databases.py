"""Opens SQLite databases in a vault.

SQLite opens files by path. So the files are checked right before, without opening them: closing a
descriptor would release this process's other locks on the file. SQLite itself follows no links to
the files next to a database.
"""

import contextlib
import os
import sqlite3
import stat

from smart_context.base.disk.files import remove_file
from smart_context.base.disk.folders import Folder, NotPlain, TooLarge, opened
from smart_context.base.disk.places import Place

_SUFFIXES = ("", "-wal", "-shm", "-journal")


def open_database(
    place: Place,
    *,
    timeout_s: float,
    max_bytes: int | None = None,
    check_same_thread: bool = True,
) -> sqlite3.Connection:
    """A connection to a database file, as `Caches.database`; made with its folder if it is missing.

    A new one is readable by its owner only.

    Raises:
        sqlite3.OperationalError: A file is not a plain file, or the system refuses.
    """
    try:
        with opened(place.parent, make=True) as folder:
            for suffix in _SUFFIXES:
                _check(folder, place.name + suffix, max_bytes)
            with contextlib.suppress(FileExistsError):
                os.close(folder.open(place.name, os.O_RDWR | os.O_CREAT | os.O_EXCL))
    except OSError as error:
        raise sqlite3.OperationalError(str(error)) from error
    return sqlite3.connect(place.path, timeout=timeout_s, check_same_thread=check_same_thread)


def remove_database(place: Place) -> None:
    """Remove a database that is not open; raises `OSError` if the system refuses."""
    for suffix in _SUFFIXES:
        remove_file(place.parent / f"{place.name}{suffix}")


def _check(folder: Folder, name: str, max_bytes: int | None) -> None:
    with contextlib.suppress(FileNotFoundError):
        status = folder.status(name)
        if not stat.S_ISREG(status.st_mode):
            raise NotPlain(folder.path / name)
        if max_bytes is not None and status.st_size > max_bytes:
            raise TooLarge(status.st_size, max_bytes)
