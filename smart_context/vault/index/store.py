"""The entries of the index, and their SQLite file, which may be deleted at any time."""

import json
import marshal
import sqlite3
import time
import weakref
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple, Self

from smart_context.base.caches import Caches
from smart_context.vault.guarded.files import FileText
from smart_context.vault.guarded.walk import FileStamp
from smart_context.vault.markdown.links import link_key
from smart_context.vault.markdown.notes import Outline, canvas_outline, outline_of

NOT_TEXT = -1
"""A file's length in the database if it is not text; `NULL` if it was never opened."""

_POSTINGS = 500
_ENCODER = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))

FileRow = tuple[int, str, int, int, int, int | None, str | None]


class IndexEntry(NamedTuple):
    """The index's entry of a file."""

    stamp: FileStamp  # the file's stamp when it was read
    outline: Outline | None = None  # `None` when it was not opened, or is not text
    is_known: bool = True  # True if it was opened


def numbered_rows(
    numbered: Iterable[tuple[int, IndexEntry]], sources: dict[str, list[int]]
) -> Iterator[FileRow]:
    """Rows to store; adds the files' numbers to `sources` by the keys of their links.

    A generator that keeps no entry, so that indexing a large vault does not fill the memory.
    """
    for number, entry in numbered:
        for key in link_keys(entry.outline):
            sources.setdefault(key, []).append(number)
        yield number, *entry.stamp, stored_length(entry), encoded(entry.outline)


def postings(sources: dict[str, list[int]]) -> Iterator[tuple[str, int, str | None]]:
    """Rows of the table of links: a key, a file's number, and up to 499 more as JSON."""
    for key in sorted(sources):
        numbers = sources[key]
        for start in range(0, len(numbers), _POSTINGS):
            first, *more = numbers[start : start + _POSTINGS]
            yield key, first, str(more) if more else None


def link_keys(outline: Outline | None) -> set[str]:
    """The keys of a file's links."""
    keys = {link_key(link.target) for link in outline.links} if outline is not None else set()
    keys.discard("")
    return keys


def stored_length(entry: IndexEntry) -> int | None:
    """The file's length in characters, `NOT_TEXT`, or `None` if it was not opened."""
    if entry.outline is not None:
        return entry.outline.length
    return NOT_TEXT if entry.is_known else None


def encoded(outline: Outline | None) -> str | None:
    """An outline as JSON."""
    return None if outline is None else _ENCODER.encode(outline[:-1])  # without `excluded`


def decoded(outline: str) -> Outline:
    """The outline that was encoded.

    Raises:
        ValueError, TypeError, RecursionError: If it is damaged.
    """
    return Outline.from_json(json.loads(outline))


_PLAIN_MARSHAL = 2  # equal values give equal bytes; written, never read
_SETTLED_NS = 50_000_000  # a file changed less than 50 ms ago may change again within its stamp


def is_note(path: str) -> bool:
    """True for a file that is read for the index; others are read when they are needed."""
    return path[-7:].lower().endswith((".md", ".canvas"))


def entry_of(path: str, found: FileText) -> IndexEntry:
    """The entry of a file that was read.

    The stamp of a file that changed just now gets the time 0, so that it is read again: it may
    change once more within the same tick of the clock.
    """
    is_settled = time.time_ns() - found.mtime_ns > _SETTLED_NS
    stamp = (path, found.mtime_ns if is_settled else 0, found.size, found.inode)
    return IndexEntry(stamp, _outline(path, found.text.removeprefix("\ufeff")))


def digest_of(stamps: list[FileStamp]) -> bytes:
    """A digest of the stamps in their order."""
    return blake2b(marshal.dumps(stamps, _PLAIN_MARSHAL), digest_size=16).digest()


def _outline(path: str, text: str) -> Outline:
    if not is_note(path):
        return Outline(len(text))
    return outline_of(text) if path[-3:].lower() == ".md" else canvas_outline(text)


_FORMAT = 4  # raise it with every change to the fields of an outline, or to how it is found
_SCHEMA = (
    """CREATE TABLE files (
        id INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL,
        mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL, inode INTEGER NOT NULL, length INTEGER
    )""",
    "CREATE TABLE outlines (id INTEGER PRIMARY KEY, outline TEXT NOT NULL)",
    "CREATE TABLE links (key TEXT, id INTEGER, more TEXT, PRIMARY KEY (key, id)) WITHOUT ROWID",
    "CREATE TABLE state (digest BLOB)",
)
_FORGET_DIGEST = "DELETE FROM state"
_LOCK_TIMEOUT_S = 10.0
_BATCH = 1_000

IndexDamaged = sqlite3.DatabaseError
"""The file is not a usable index and has to be rebuilt."""

IndexUnwritable = sqlite3.OperationalError
"""The file can't be written: a read-only vault, a full disk. A kind of `IndexDamaged`."""


class IndexStore:
    """Stores an entry for each file. Any method may raise `IndexDamaged`.

    A file is kept as a source of links that it no longer has: readers check its links anyway.
    """

    def __init__(
        self, database: sqlite3.Connection, caches: Caches | None = None, name: str = ""
    ) -> None:
        self._database = database
        self._caches = caches
        self._name = name
        weakref.finalize(self, database.close)  # for callers that never close it

    @classmethod
    def in_memory(cls) -> Self:
        """A store that writes no file."""
        database = sqlite3.connect(":memory:", check_same_thread=False)
        _prepare(database)
        return cls(database)

    @classmethod
    def kept(cls, caches: Caches, name: str) -> Self:
        """The store in a database; replaced if it is damaged or of another version.

        Raises:
            IndexUnwritable: If the file can't be written.
        """
        try:
            return cls(_connect(caches, name), caches, name)
        except IndexUnwritable:
            raise
        except IndexDamaged:
            _delete(caches, name)
            return cls(_connect(caches, name), caches, name)

    def copied_to(self, caches: Caches, name: str) -> Self:
        """A copy of this store in a database, whose content it replaces.

        Raises:
            IndexDamaged: If the file can't be written.
        """
        return type(self)(_connect(caches, name, self._database), caches, name)

    def close(self) -> None:
        """Close the file. Everything stored is on disk."""
        self._database.close()

    def discard(self) -> None:
        """Close the file and delete it."""
        self.close()
        if self._caches is not None:
            _delete(self._caches, self._name)

    def version(self) -> int:
        """A number that changes when another program changes the file."""
        (version,) = self._database.execute("PRAGMA data_version").fetchone()
        return int(version)

    def stamps(self) -> list[FileStamp]:
        """The stamps of all files when they were read."""
        return self._database.execute("SELECT path, mtime_ns, size, inode FROM files").fetchall()

    def digest(self) -> bytes | None:
        """The digest last stored; `None` if anything else was stored since."""
        row = self._database.execute("SELECT digest FROM state").fetchone()
        return None if row is None else row[0]

    def keep_digest(self, digest: bytes) -> None:
        """Store the digest of all stamps, so that an unchanged vault is recognised at once."""
        with self._database as database:
            database.execute(_FORGET_DIGEST)
            database.execute("INSERT INTO state VALUES (?)", (digest,))

    def paths(self) -> list[str]:
        """The paths of all files, unordered."""
        return [path for (path,) in self._database.execute("SELECT path FROM files")]

    def outlines(self) -> Iterator[tuple[str, Outline]]:
        """All outlines, sorted by path."""
        rows = self._database.execute(
            "SELECT path, outline FROM files JOIN outlines USING (id) ORDER BY path"
        ).fetchall()
        return ((path, _decoded(outline)) for path, outline in rows)

    def lengths(self) -> list[tuple[str, int]]:
        """The length in characters of each file that is known to be text."""
        return self._database.execute("SELECT path, length FROM files WHERE length >= 0").fetchall()

    def entry(self, path: str) -> IndexEntry | None:
        """The entry of a file; `None` when the file is not in the vault."""
        row = self._database.execute(
            "SELECT path, mtime_ns, size, inode, length, outline"
            " FROM files LEFT JOIN outlines USING (id) WHERE path = ?",
            (path,),
        ).fetchone()
        if row is None:
            return None
        outline = None if row[5] is None else _decoded(row[5])
        return IndexEntry(row[:4], outline, row[4] is not None)

    def sources(self, key: str) -> tuple[str, ...]:
        """The files that have, or had, a link with this key, sorted."""
        rows = self._database.execute(
            "SELECT path FROM files WHERE id IN ("
            " SELECT links.id FROM links WHERE links.key = :key"
            " UNION SELECT value FROM links, json_each(more) WHERE links.key = :key) ORDER BY path",
            {"key": key},
        )
        return tuple(path for (path,) in rows)

    def add(self, entries: Iterable[IndexEntry]) -> set[str]:
        """Store new files, any number of them, in one transaction.

        Returns:
            The keys of their links.
        """
        sources: dict[str, list[int]] = {}
        with self._database as database:
            database.execute(_FORGET_DIGEST)
            (last,) = database.execute("SELECT coalesce(max(id), 0) FROM files").fetchone()
            numbered = enumerate(entries, last + 1)
            while batch := list(islice(numbered_rows(numbered, sources), _BATCH)):
                database.executemany(
                    "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?)", (row[:6] for row in batch)
                )
                outlines = ((row[0], row[6]) for row in batch if row[6] is not None)
                database.executemany("INSERT INTO outlines VALUES (?, ?)", outlines)
            database.executemany("INSERT INTO links VALUES (?, ?, ?)", postings(sources))
        return set(sources)

    def change(self, entries: Iterable[IndexEntry]) -> set[str]:
        """Update known files in one transaction; unknown ones are skipped.

        Returns:
            The keys of the links that they had and have.
        """
        affected: set[str] = set()
        with self._database as database:
            database.execute(_FORGET_DIGEST)
            for entry in entries:
                number, before = self._remembered(entry.stamp[0])
                if number is None:
                    continue
                keys = link_keys(entry.outline)
                affected |= keys | before
                database.execute(
                    "UPDATE files SET mtime_ns = ?, size = ?, inode = ?, length = ? WHERE id = ?",
                    (*entry.stamp[1:], stored_length(entry), number),
                )
                self._put_outline(number, entry)
                new = [(key, number) for key in keys - before]
                database.executemany("INSERT OR IGNORE INTO links VALUES (?, ?, NULL)", new)
        return affected

    def remove(self, paths: Iterable[str]) -> set[str]:
        """Remove files.

        Returns:
            The keys of the links that they had.
        """
        affected: set[str] = set()
        with self._database as database:
            database.execute(_FORGET_DIGEST)
            for path in paths:
                number, before = self._remembered(path)
                affected |= before
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
        return row[0], set() if row[1] is None else link_keys(_decoded(row[1]))

    def _put_outline(self, number: int, entry: IndexEntry) -> None:
        if entry.outline is None:
            self._database.execute("DELETE FROM outlines WHERE id = ?", (number,))
            return
        row = (number, encoded(entry.outline))
        self._database.execute("INSERT OR REPLACE INTO outlines VALUES (?, ?)", row)


def _decoded(outline: str) -> Outline:
    try:
        return decoded(outline)
    except (ValueError, TypeError, RecursionError) as error:
        raise IndexDamaged("an outline in the index can't be read") from error


def _connect(
    caches: Caches, name: str, copied: sqlite3.Connection | None = None
) -> sqlite3.Connection:
    database = caches.database(name, timeout_s=_LOCK_TIMEOUT_S, check_same_thread=False)
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
        raise IndexDamaged("not an index of this version")


def _delete(caches: Caches, name: str) -> None:
    try:
        caches.remove_database(name)
    except OSError as error:
        raise IndexUnwritable(str(error)) from error
