"""Caches of this machine, by name: indexes and vectors of notes, which can be made again."""

import sqlite3
from typing import Protocol


class Caches(Protocol):
    """Files by name that may be lost at any time. Everything here blocks."""

    def can_keep(self) -> bool:
        """False while there is no place for files; don't make any then."""

    def has(self, name: str) -> bool:
        """True if something is kept under the name."""

    def read(self, name: str) -> bytes:
        """The content of a file; raises `OSError` if it is missing, or the system refuses."""

    def write(self, name: str, content: bytes) -> None:
        """Replace a file; raises `StoreFailed` if the system refuses; the old one is intact."""

    def database(
        self,
        name: str,
        *,
        timeout_s: float,
        max_bytes: int | None = None,
        check_same_thread: bool = True,
    ) -> sqlite3.Connection:
        """A connection to a database, which is made when it is missing.

        Args:
            timeout_s: Seconds to wait for the locks of other connections.
            max_bytes: A larger database is refused.
            check_same_thread: As for `sqlite3.connect`.

        Raises:
            sqlite3.OperationalError: The system refuses.
        """

    def remove_database(self, name: str) -> None:
        """Remove a database that is not open; raises `OSError` if the system refuses."""
