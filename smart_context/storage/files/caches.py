"""Caches of this machine, which can be made again, as files in the memory folder."""

import sqlite3
from pathlib import Path

from smart_context.base.disk.databases import open_database, remove_database
from smart_context.base.disk.files import MAX_FILE_BYTES, atomic_write, signature_of
from smart_context.base.disk.folders import is_folder, read_inside
from smart_context.base.disk.places import Place, folder_of
from smart_context.base.errors import StoreFailed

_FOLDER = "index"


class FileCaches:
    """The files in `index/` of a memory folder; satisfies `Caches`.

    Args:
        makes_folder: Make a missing memory folder; if false, nothing is kept until it exists.
    """

    def __init__(self, memory: Path | Place, *, makes_folder: bool = False) -> None:
        self._memory = folder_of(memory)
        self._makes_folder = makes_folder

    def can_keep(self) -> bool:
        """True if the memory folder exists, or may be made."""
        return self._makes_folder or is_folder(self._memory)

    def has(self, name: str) -> bool:
        """True if anything has that name, even if it is not a file."""
        try:
            return signature_of(self._place(name)) is not None
        except StoreFailed:
            return True

    def read(self, name: str) -> bytes:
        return read_inside(self._place(name), max_bytes=MAX_FILE_BYTES)

    def write(self, name: str, content: bytes) -> None:
        atomic_write(self._place(name), content)

    def database(
        self,
        name: str,
        *,
        timeout_s: float,
        max_bytes: int | None = None,
        check_same_thread: bool = True,
    ) -> sqlite3.Connection:
        """A connection to a database file, which follows no link."""
        return open_database(
            self._place(name),
            timeout_s=timeout_s,
            max_bytes=max_bytes,
            check_same_thread=check_same_thread,
        )

    def remove_database(self, name: str) -> None:
        remove_database(self._place(name))

    def _place(self, name: str) -> Place:
        return self._memory / f"{_FOLDER}/{name}"
