"""The index on disk: an SQLite file that can be deleted at any time."""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Self

from smart_context.vault.links import link_key
from smart_context.vault.notes import Outline
from smart_context.vault.walk import FileStamp

_FORMAT = 1  # to be raised with every change to what an outline holds
_SCHEMA = (
    """CREATE TABLE files (
        id INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL,
        mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL, inode INTEGER NOT NULL
    )""",
    "CREATE TABLE outlines (id INTEGER PRIMARY KEY, outline TEXT)",
    "CREATE TABLE links (key TEXT, id INTEGER, PRIMARY KEY (key, id)) WITHOUT ROWID",
)
_LOCK_TIMEOUT_S = 10.0

IndexDamaged = sqlite3.DatabaseError
"""The file is no index; it is to be made anew."""

IndexUnwritable = sqlite3.OperationalError
"""There can be no such file: a read-only vault, a full disk. A kind of `IndexDamaged`."""


class Entry(NamedTuple):
    """What was found out about a file.

    Attributes:
        stamp: Of the file when it was read.
        outline: `None` when it was not looked into, or when it is no text.
        is_known: Whether it was looked into.
    """

    stamp: FileStamp
    outline: Outline | None = None
    is_known: bool = True


class IndexStore:
    """What is known of each file. Damage shows as `IndexDamaged` from any method."""

    def __init__(self, database: sqlite3.Connection, path: Path | None) -> None:
        self._database = database
        self._path = path

    @classmethod
    def in_memory(cls) -> Self:
        """A store that leaves nothing behind."""
        database = sqlite3.connect(":memory:", check_same_thread=False)
        _prepare(database)
        return cls(database, None)

    @classmethod
    def at(cls, path: Path) -> Self:
        """The store in a file. One that is damaged, or not ours, is made anew.

        Raises:
            IndexUnwritable: If there can be no such file.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise IndexUnwritable(str(error)) from error
        try:
            return cls(_connect(path), path)
        except IndexUnwritable:
            raise
        except IndexDamaged:
            _delete(path)
            return cls(_connect(path), path)

    def close(self) -> None:
        """Close the file; what was stored is on disk."""
        self._database.close()

    def discard(self) -> None:
        """Close the file and delete it."""
        self.close()
        if self._path is not None:
            _delete(self._path)

    def version(self) -> int:
        """A number that is another one once another program changed the file."""
        (version,) = self._database.execute("PRAGMA data_version").fetchone()
        return int(version)

    def stamps(self) -> list[FileStamp]:
        """The stamps of all files, as they were when their outlines were made."""
        return self._database.execute("SELECT path, mtime_ns, size, inode FROM files").fetchall()

    def paths(self) -> list[str]:
        """The paths of all files, in no order."""
        return [path for (path,) in self._database.execute("SELECT path FROM files")]

    def outlines(self) -> Iterator[tuple[str, Outline]]:
        """All outlines that there are, sorted by path."""
        rows = self._database.execute(
            "SELECT path, outline FROM files JOIN outlines USING (id)"
            " WHERE outline IS NOT NULL ORDER BY path"
        ).fetchall()
        return ((path, _decoded(outline)) for path, outline in rows)

    def entry(self, path: str) -> Entry | None:
        """What is known of one file; `None` when it is not in the vault."""
        row = self._database.execute(
            "SELECT path, mtime_ns, size, inode, outlines.id, outline"
            " FROM files LEFT JOIN outlines USING (id) WHERE path = ?",
            (path,),
        ).fetchone()
        if row is None:
            return None
        outline = None if row[5] is None else _decoded(row[5])
        return Entry(row[:4], outline, row[4] is not None)

    def sources(self, key: str) -> tuple[str, ...]:
        """The files with a link of that key, sorted."""
        rows = self._database.execute(
            "SELECT path FROM links JOIN files USING (id) WHERE key = ? ORDER BY path", (key,)
        )
        return tuple(path for (path,) in rows)

    def put(self, entries: Iterable[Entry]) -> set[str]:
        """Store files, new ones or changed ones, as one change.

        Returns:
            The keys of the links that they had and have.
        """
        affected: set[str] = set()
        links: list[tuple[str, int]] = []
        with self._database as database:
            for entry in entries:
                identity, former = self._remembered(entry.stamp[0])
                keys = _keys(entry.outline)
                affected |= keys | former
                identity = self._put_stamp(identity, entry.stamp)
                self._put_outline(identity, entry)
                gone = [(key, identity) for key in former - keys]
                database.executemany("DELETE FROM links WHERE key = ? AND id = ?", gone)
                links += [(key, identity) for key in keys - former]
            database.executemany("INSERT OR IGNORE INTO links VALUES (?, ?)", sorted(links))
        return affected

    def remove(self, paths: Iterable[str]) -> set[str]:
        """Forget files.

        Returns:
            The keys of the links that they had.
        """
        affected: set[str] = set()
        with self._database as database:
            for path in paths:
                identity, former = self._remembered(path)
                affected |= former
                gone = [(key, identity) for key in former]
                database.executemany("DELETE FROM links WHERE key = ? AND id = ?", gone)
                database.execute("DELETE FROM outlines WHERE id = ?", (identity,))
                database.execute("DELETE FROM files WHERE id = ?", (identity,))
        return affected

    def _remembered(self, path: str) -> tuple[int | None, set[str]]:
        row = self._database.execute(
            "SELECT files.id, outline FROM files LEFT JOIN outlines USING (id) WHERE path = ?",
            (path,),
        ).fetchone()
        if row is None:
            return None, set()
        return row[0], set() if row[1] is None else _keys(_decoded(row[1]))

    def _put_stamp(self, identity: int | None, stamp: FileStamp) -> int:
        (stored,) = self._database.execute(
            "INSERT INTO files (id, path, mtime_ns, size, inode) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET mtime_ns = excluded.mtime_ns,"
            " size = excluded.size, inode = excluded.inode RETURNING id",
            (identity, *stamp),
        ).fetchone()
        return int(stored)

    def _put_outline(self, identity: int, entry: Entry) -> None:
        if not entry.is_known:
            self._database.execute("DELETE FROM outlines WHERE id = ?", (identity,))
            return
        encoded = None
        if entry.outline is not None:
            encoded = json.dumps(entry.outline, ensure_ascii=False, separators=(",", ":"))
        self._database.execute("INSERT OR REPLACE INTO outlines VALUES (?, ?)", (identity, encoded))


def _keys(outline: Outline | None) -> set[str]:
    keys = {link_key(link.target) for link in outline.links} if outline is not None else set()
    keys.discard("")
    return keys


def _decoded(outline: str) -> Outline:
    try:
        return Outline.from_json(json.loads(outline))
    except (ValueError, TypeError, RecursionError) as error:
        raise IndexDamaged("an outline in the index can't be read") from error


def _connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=_LOCK_TIMEOUT_S, check_same_thread=False)
    try:
        _prepare(database)
    except IndexDamaged:
        database.close()
        raise
    return database


def _prepare(database: sqlite3.Connection) -> None:
    database.execute("PRAGMA trusted_schema = OFF")
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    found = {sql for (sql,) in database.execute("SELECT sql FROM sqlite_master WHERE sql NOT NULL")}
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if not found:
        for statement in _SCHEMA:
            database.execute(statement)
        database.execute(f"PRAGMA user_version = {_FORMAT}")
    elif found != set(_SCHEMA) or version != _FORMAT:
        raise IndexDamaged("the file is another version's index, or none")


def _delete(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
