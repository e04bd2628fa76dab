"""Rows in a database, which can be made again. Trouble costs time, never an answer."""

import contextlib
import logging
import sqlite3
import threading
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from smart_context.base.caches import Caches
from smart_context.base.errors import StoreFailed

_logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True, eq=False)
class KeptRows:
    """The rows of one table. Blocks; safe for several threads and processes."""

    caches: Caches
    name: str  # the name of the database among the caches
    table: str  # the name of its only table
    columns: str  # its columns in SQL, in brackets
    max_bytes: int  # a larger database is refused
    version: int = 0  # a signed number of 32 bits; rows of another version are dropped
    timeout_s: float = 2.0  # the time to wait for others' locks
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _is_refused: bool = field(default=False, init=False)  # to be logged once

    @property
    def are_there(self) -> bool:
        """True if anything was kept."""
        return self.caches.has(self.name)

    def read(self, query: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows that a query finds; none if the database is missing, damaged or locked."""
        try:
            if self.are_there:
                with self._lock, closing(self._connect()) as database:
                    return database.execute(query, parameters).fetchall()
        except (sqlite3.OperationalError, OSError) as error:
            _logger.warning("%s can't be read: %s", self.name, error)
        except sqlite3.Error as error:
            self.drop(error)
        return []

    def write(self, *changes: tuple[str, Iterable[Sequence[object]]]) -> bool:
        """Run each statement for all its rows.

        Returns:
            True if they are stored.
        """
        if not self.caches.can_keep():
            return False
        try:
            with self._lock, closing(self._connect()) as database, database:
                for statement, rows in changes:
                    database.executemany(statement, rows)
        except (sqlite3.OperationalError, OSError) as error:
            if not self._is_refused:
                _logger.warning("%s can't be kept: %s", self.name, error)
            self._is_refused = True
        except sqlite3.Error as error:
            self.drop(error)
        else:
            self._is_refused = False
            return True
        return False

    def drop(self, error: Exception) -> None:
        """Remove a damaged database, which is then made again; one that stays is not used."""
        _logger.warning("%s is made again: %s", self.name, error)
        with contextlib.suppress(OSError, StoreFailed):
            self.caches.remove_database(self.name)

    def _connect(self) -> sqlite3.Connection:
        database = self.caches.database(
            self.name, timeout_s=self.timeout_s, max_bytes=self.max_bytes
        )
        try:
            database.execute("PRAGMA trusted_schema = OFF")
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            if database.execute("PRAGMA user_version").fetchone() != (self.version,):
                with database:
                    database.execute(f"DROP TABLE IF EXISTS {self.table}")
                    database.execute(f"PRAGMA user_version = {self.version}")
            # Other tables are refused: a view of that name could give endless rows.
            known = database.execute("SELECT sql FROM sqlite_master WHERE sql NOT NULL LIMIT 2")
            if not {sql for (sql,) in known} <= {f"CREATE TABLE {self.table} {self.columns}"}:
                raise sqlite3.DatabaseError("the file has unknown tables")
            database.execute(f"CREATE TABLE IF NOT EXISTS {self.table} {self.columns}")
        except sqlite3.Error:
            database.close()
            raise
        return database
