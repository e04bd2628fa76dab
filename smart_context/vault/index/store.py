"""The index on disk: an SQLite file that can be deleted at any time."""

import json
import sqlite3
import weakref
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple, Self

from smart_context.disk.databases import open_database, remove_database
from smart_context.disk.places import Place
from smart_context.vault.guarded.walk import FileStamp
from smart_context.vault.markdown.links import link_key
from smart_context.vault.markdown.notes import Outline

_FORMAT = 3  # to be raised with every change to what an outline holds
_SCHEMA = (
    """CREATE TABLE files (
        id INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL,
        mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL, inode INTEGER NOT NULL, length INTEGER
    )""",
    "CREATE TABLE outlines (id INTEGER PRIMARY KEY, outline TEXT NOT NULL)",
    "CREATE TABLE links (key TEXT, id INTEGER, more TEXT, PRIMARY KEY (key, id)) WITHOUT ROWID",
    "CREATE TABLE state (digest BLOB)",
)
_NO_TEXT = -1  # in place of a length; where that is missing, the file was not looked into
_FORGET_DIGEST = "DELETE FROM state"
_LOCK_TIMEOUT_S = 10.0
_BATCH = 1_000
_POSTINGS = 500
_ENCODER = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))

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
    """What is known of each file. Damage shows as `IndexDamaged` from any method.

    A link's source is never taken off its key's list: whoever asks looks at its links anyway.
    """

    def __init__(self, database: sqlite3.Connection, place: Place | None) -> None:
        self._database = database
        self._place = place
        weakref.finalize(self, database.close)  # for those who forget to close it

    @classmethod
    def in_memory(cls) -> Self:
        """A store that leaves nothing behind."""
        database = sqlite3.connect(":memory:", check_same_thread=False)
        _prepare(database)
        return cls(database, None)

    @classmethod
    def at(cls, place: Place) -> Self:
        """The store in a file. One that is damaged, or not ours, is made anew.

        Raises:
            IndexUnwritable: If there can be no such file.
        """
        try:
            return cls(_connect(place), place)
        except IndexUnwritable:
            raise
        except IndexDamaged:
            _delete(place)
            return cls(_connect(place), place)

    def copied_to(self, place: Place) -> Self:
        """Another store with the same in a file, whatever that held.

        Raises:
            IndexDamaged: If there can be no such file.
        """
        return type(self)(_connect(place, self._database), place)

    def close(self) -> None:
        """Close the file; what was stored is on disk."""
        self._database.close()

    def discard(self) -> None:
        """Close the file and delete it."""
        self.close()
        if self._place is not None:
            _delete(self._place)

    def version(self) -> int:
        """A number that is another one once another program changed the file."""
        (version,) = self._database.execute("PRAGMA data_version").fetchone()
        return int(version)

    def stamps(self) -> list[FileStamp]:
        """The stamps of all files, as they were when their outlines were made."""
        return self._database.execute("SELECT path, mtime_ns, size, inode FROM files").fetchall()

    def digest(self) -> bytes | None:
        """What `keep_digest` was last given, unless anything was stored since."""
        row = self._database.execute("SELECT digest FROM state").fetchone()
        return None if row is None else row[0]

    def keep_digest(self, digest: bytes) -> None:
        """Remember a digest of all stamps, to see at once that nothing changed."""
        with self._database as database:
            database.execute(_FORGET_DIGEST)
            database.execute("INSERT INTO state VALUES (?)", (digest,))

    def paths(self) -> list[str]:
        """The paths of all files, in no order."""
        return [path for (path,) in self._database.execute("SELECT path FROM files")]

    def outlines(self) -> Iterator[tuple[str, Outline]]:
        """All outlines that there are, sorted by path."""
        rows = self._database.execute(
            "SELECT path, outline FROM files JOIN outlines USING (id) ORDER BY path"
        ).fetchall()
        return ((path, _decoded(outline)) for path, outline in rows)

    def lengths(self) -> list[tuple[str, int]]:
        """The files that are known to be texts, and how many characters each has."""
        return self._database.execute("SELECT path, length FROM files WHERE length >= 0").fetchall()

    def entry(self, path: str) -> Entry | None:
        """What is known of one file; `None` when it is not in the vault."""
        row = self._database.execute(
            "SELECT path, mtime_ns, size, inode, length, outline"
            " FROM files LEFT JOIN outlines USING (id) WHERE path = ?",
            (path,),
        ).fetchone()
        if row is None:
            return None
        outline = None if row[5] is None else _decoded(row[5])
        return Entry(row[:4], outline, row[4] is not None)

    def sources(self, key: str) -> tuple[str, ...]:
        """The files that have, or once had, a link of that key, sorted."""
        rows = self._database.execute(
            "SELECT path FROM files WHERE id IN ("
            " SELECT links.id FROM links WHERE links.key = :key"
            " UNION SELECT value FROM links, json_each(more) WHERE links.key = :key) ORDER BY path",
            {"key": key},
        )
        return tuple(path for (path,) in rows)

    def add(self, entries: Iterable[Entry]) -> set[str]:
        """Store files that are not known yet, any number of them, as one change.

        Returns:
            The keys of their links.
        """
        sources: dict[str, list[int]] = {}
        with self._database as database:
            database.execute(_FORGET_DIGEST)
            (last,) = database.execute("SELECT coalesce(max(id), 0) FROM files").fetchone()
            numbered = enumerate(entries, last + 1)
            while batch := list(islice(_rows(numbered, sources), _BATCH)):
                database.executemany(
                    "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?)", (row[:6] for row in batch)
                )
                outlines = ((row[0], row[6]) for row in batch if row[6] is not None)
                database.executemany("INSERT INTO outlines VALUES (?, ?)", outlines)
            database.executemany("INSERT INTO links VALUES (?, ?, ?)", _postings(sources))
        return set(sources)

    def change(self, entries: Iterable[Entry]) -> set[str]:
        """Store files anew, as one change; those that are not known are passed over.

        Returns:
            The keys of the links that they had and have.
        """
        affected: set[str] = set()
        with self._database as database:
            database.execute(_FORGET_DIGEST)
            for entry in entries:
                number, former = self._remembered(entry.stamp[0])
                if number is None:
                    continue
                keys = _keys(entry.outline)
                affected |= keys | former
                database.execute(
                    "UPDATE files SET mtime_ns = ?, size = ?, inode = ?, length = ? WHERE id = ?",
                    (*entry.stamp[1:], _length(entry), number),
                )
                self._put_outline(number, entry)
                come = [(key, number) for key in keys - former]
                database.executemany("INSERT OR IGNORE INTO links VALUES (?, ?, NULL)", come)
        return affected

    def remove(self, paths: Iterable[str]) -> set[str]:
        """Forget files.

        Returns:
            The keys of the links that they had.
        """
        affected: set[str] = set()
        with self._database as database:
            database.execute(_FORGET_DIGEST)
            for path in paths:
                number, former = self._remembered(path)
                affected |= former
                database.execute("DELETE FROM outlines WHERE id = ?", (number,))
                database.execute("DELETE FROM files WHERE id = ?", (number,))
        return affected

    def _remembered(self, path: str) -> tuple[int | None, set[str]]:
        row = self._database.execute(
            "SELECT files.id, outline FROM files LEFT JOIN outlines USING (id) WHERE path = ?",
            (path,),
        ).fetchone()
        if row is None:
            return None, set()
        return row[0], set() if row[1] is None else _keys(_decoded(row[1]))

    def _put_outline(self, number: int, entry: Entry) -> None:
        if entry.outline is None:
            self._database.execute("DELETE FROM outlines WHERE id = ?", (number,))
            return
        row = (number, _encoded(entry.outline))
        self._database.execute("INSERT OR REPLACE INTO outlines VALUES (?, ?)", row)


_Row = tuple[int, str, int, int, int, int | None, str | None]


def _rows(numbered: Iterable[tuple[int, Entry]], sources: dict[str, list[int]]) -> Iterator[_Row]:
    """Rows as they are stored; nothing of an entry is kept, so that none grows old in memory."""
    for number, entry in numbered:
        for key in _keys(entry.outline):
            sources.setdefault(key, []).append(number)
        yield number, *entry.stamp, _length(entry), _encoded(entry.outline)


def _postings(sources: dict[str, list[int]]) -> Iterator[tuple[str, int, str | None]]:
    for key in sorted(sources):
        numbers = sources[key]
        for start in range(0, len(numbers), _POSTINGS):
            first, *more = numbers[start : start + _POSTINGS]
            yield key, first, str(more) if more else None


def _keys(outline: Outline | None) -> set[str]:
    keys = {link_key(link.target) for link in outline.links} if outline is not None else set()
    keys.discard("")
    return keys


def _length(entry: Entry) -> int | None:
    if entry.outline is not None:
        return entry.outline.length
    return _NO_TEXT if entry.is_known else None


def _encoded(outline: Outline | None) -> str | None:
    return None if outline is None else _ENCODER.encode(outline)


def _decoded(outline: str) -> Outline:
    try:
        return Outline.from_json(json.loads(outline))
    except (ValueError, TypeError, RecursionError) as error:
        raise IndexDamaged("an outline in the index can't be read") from error


def _connect(place: Place, copied: sqlite3.Connection | None = None) -> sqlite3.Connection:
    database = open_database(place, timeout_s=_LOCK_TIMEOUT_S, check_same_thread=False)
    try:
        if copied is not None:
            copied.backup(database)
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


def _delete(place: Place) -> None:
    try:
        remove_database(place)
    except OSError as error:
        raise IndexUnwritable(str(error)) from error
