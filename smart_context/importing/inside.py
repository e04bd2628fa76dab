"""The import's work in the child process: opens a file and sends its chats in pieces.

A chat may be larger than the child's largest answer, and an answer is parsed in one go. So
messages are sent in groups of about a megabyte, followed by the chat that they belong to.
"""

import base64
import io
import json
import sqlite3
import time
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from typing_extensions import override

from smart_context.base.errors import CommandFailed
from smart_context.base.processes.child_main import ask, tell
from smart_context.base.values import JsonObject
from smart_context.importing.found import FoundChat, FoundMessage, NotKnown, NotReadable, OwnChat
from smart_context.importing.recognised import Found, UnreadableChat, chats_in
from smart_context.importing.sources import (
    MOST_ASSET_BYTES,
    Source,
    archive_in,
    check_entry,
    is_read_in_archive,
    on_one_line,
)

_READ_AT_ONCE = 1 << 20
_MOST_CHARACTERS, _MOST_S = 1 << 20, 0.05
_LEAST = 200  # the size of a message without texts, in characters
_ENCODING = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFile:
    """A file whose bytes the parent reads for the child."""

    name: str  # its path, for users
    size: int  # its size in bytes
    is_alone: bool  # True if the user named the file itself, not its folder or archive


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumePoint:
    """The point at which to continue after a child was killed."""

    passed: int = 0  # the number of chats and of reports of broken ones before it
    is_single: bool = False  # True to send pieces one by one, since the next may kill the child
    refused: Mapping[int, str] = field(default_factory=dict)  # as in `Source`


@dataclass(slots=True)
class _Open:
    """The state of this process, kept from one job to the next."""

    given: JobFile | None = None
    archive: zipfile.ZipFile | None = None
    entries: Sequence[zipfile.ZipInfo] = ()  # those of the archive, without folders
    database: sqlite3.Connection | None = None
    source: Source | None = None
    pieces: Iterator[tuple[str, object]] | None = None
    asset: IO[bytes] | None = None


_open = _Open()


def open_database(path: str) -> None:
    """Open a database before the process gives up its rights.

    Includes changes in a write-ahead log next to the file: beginning to read opens both files and
    fixes their content.
    """
    is_whole = not Path(f"{path}-wal").exists()
    address = f"file:{quote(path)}?mode=ro{'&immutable=1' if is_whole else ''}"
    with suppress(sqlite3.Error):  # the first query reports a broken file
        _open.database = sqlite3.connect(address, uri=True, isolation_level=None)
        if not is_whole:
            _open.database.execute("BEGIN")
            _open.database.execute("SELECT name FROM sqlite_master LIMIT 1").fetchall()


def archived(given: JobFile) -> list[tuple[str, int]] | None:
    """The names and sizes of a ZIP's entries; -1 as the size of entries that can't hold chats.

    `None` if the file is not a ZIP.

    Raises:
        CommandFailed: If it is a ZIP that can't be read.
    """
    try:
        archive = _archive(given)
    except NotReadable as error:
        raise CommandFailed(str(error)) from error
    if archive is None:
        return None
    return [
        (entry.filename, entry.file_size if is_read_in_archive(entry) else -1)
        for entry in _open.entries
    ]


def begin(given: JobFile, entries: Sequence[int], wanted: str, resume: ResumePoint) -> None:
    """Start reading a file, or ZIP entries that are the lines of one session, for `more`."""
    archive = _archive(given) if entries else None
    if archive is not None:
        found = [_open.entries[number] for number in entries]
        source = Source(
            name=found[0].filename,
            size=sum(entry.file_size for entry in found),
            stream=lambda: _opened(archive, found),
        )
    else:
        source = Source(
            name=given.name,
            size=given.size,
            stream=lambda: _stream(given),
            is_alone=given.is_alone,
            database=_open.database,
        )
    source.refused, source.tell = resume.refused, tell
    _open.source = source
    _open.pieces = _pieces(source, wanted, resume.passed)


def more(is_single: bool) -> JsonObject:
    """The next pieces (one if `is_single`) as JSON texts, and how many bytes were read so far."""
    if _open.source is None or _open.pieces is None:
        raise RuntimeError("nothing was begun")
    began, pieces, size = time.monotonic(), list[str](), 0
    for piece in _open.pieces:
        pieces.append(_ENCODING(piece))
        size += len(pieces[-1])
        if is_single or size > _MOST_CHARACTERS or time.monotonic() - began > _MOST_S:
            break
    else:
        pieces.append(_ENCODING(("end", None)))
    return {"pieces": pieces, "passed": _open.source.passed}


def end() -> None:
    """Forget what was begun; large objects are freed with the process."""
    _open.source = _open.pieces = None


def begin_asset(given: JobFile, entry: int) -> bool:
    """Start reading a ZIP entry for `more_of_asset`; `False` if it can't be read."""
    try:
        if (archive := _archive(given)) is None:
            return False
        found = _open.entries[entry]
        check_entry(found)
        if found.file_size > MOST_ASSET_BYTES:
            return False
        _open.asset = archive.open(found)
    except (OSError, RuntimeError, NotReadable, NotImplementedError, EOFError, zipfile.BadZipFile):
        return False
    return True


def more_of_asset() -> str:
    """The next bytes of the entry in base64; empty at its end.

    Raises:
        CommandFailed: If the entry is damaged.
    """
    try:
        content = _open.asset.read(_READ_AT_ONCE) if _open.asset else b""
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise CommandFailed("the file is damaged") from error
    return base64.b64encode(content).decode()


def names_in(text: bytes) -> dict[str, str]:
    """The original names of other files, from a JSON object; empty if it is damaged."""
    with suppress(ValueError, RecursionError):
        found = json.loads(text)
        if isinstance(found, dict):
            return {key: name for key, name in found.items() if isinstance(name, str)}
    return {}


class _Remote(io.RawIOBase):
    """A file for the current job, read through the parent."""

    def __init__(self, size: int) -> None:
        self._size, self._at = size, 0

    @override
    def readable(self) -> bool:
        return True

    @override
    def seekable(self) -> bool:
        return True

    @override
    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        if self._at < 0:
            self._at = 0
            raise OSError(f"there is nothing before the beginning: {offset}")
        return self._at

    @override
    def readinto(self, buffer: Any) -> int:
        content = ask([self._at, len(buffer)])
        buffer[: len(content)] = content
        self._at += len(content)
        return len(content)


class _ZipLines(io.RawIOBase):
    """ZIP entries as one stream, with one line for each entry."""

    def __init__(self, archive: zipfile.ZipFile, entries: Sequence[zipfile.ZipInfo]) -> None:
        self._at, self._left = 0, b""
        self._pieces = (
            piece
            for entry in entries
            for stream in (archive.open(entry),)
            for piece in on_one_line(stream)
        )

    @override
    def readable(self) -> bool:
        return True

    @override
    def tell(self) -> int:
        return self._at

    @override
    def readinto(self, buffer: Any) -> int:
        self._left = self._left or next(self._pieces, b"")
        given, self._left = self._left[: len(buffer)], self._left[len(buffer) :]
        buffer[: len(given)] = given
        self._at += len(given)
        return len(given)


def _opened(archive: zipfile.ZipFile, entries: Sequence[zipfile.ZipInfo]) -> Any:
    if len(entries) == 1:
        return archive.open(entries[0])
    return io.BufferedReader(_ZipLines(archive, entries), _READ_AT_ONCE)


def _stream(given: JobFile) -> io.BufferedReader:
    return io.BufferedReader(_Remote(given.size), _READ_AT_ONCE)


def _archive(given: JobFile) -> zipfile.ZipFile | None:
    if _open.given != given:
        _open.given, _open.archive, _open.entries = None, None, ()
        _open.archive = archive_in(_stream(given), given.size)
        if _open.archive is not None:  # once, because entries are looked up one at a time
            _open.entries = [each for each in _open.archive.infolist() if not each.is_dir()]
        _open.given = given
    return _open.archive


def _pieces(source: Source, wanted: str, passed: int) -> Iterator[tuple[str, object]]:
    try:
        for found in islice(chats_in(source, wanted), passed, None):
            yield from _pieces_of(found)
    except NotKnown as error:
        yield "not known", str(error)
    except NotReadable as error:
        yield "not readable", str(error)


def _pieces_of(found: Found | UnreadableChat) -> Iterator[tuple[str, object]]:
    """The pieces of one result, which `reading` puts together again."""
    try:
        if isinstance(found, FoundChat):
            for messages in _handed_over_at_once(found.messages):
                yield "messages", _ENCODING([_values(message) for message in messages])
            yield "chat", _ENCODING(_values(found) | {"messages": []})
        elif isinstance(found, OwnChat):
            yield "own", _ENCODING(_values(found))
        else:
            yield "broken", _ENCODING(_values(found))
    except (TypeError, ValueError, RecursionError) as error:
        name, words = getattr(found, "id", ""), str(error)[:200]
        yield "broken", _ENCODING({"id": name, "title": found.title, "error": words})


def _handed_over_at_once(messages: Sequence[FoundMessage]) -> Iterator[list[FoundMessage]]:
    """The messages in groups, each with about a megabyte of texts and pictures."""
    group, size = list[FoundMessage](), 0
    for message in messages:
        group.append(message)
        size += _LEAST + sum(len(address) for address, _ in message.assets)
        size += sum(len(str(v)) for part in message.parts for v in part.values())
        if size > _MOST_CHARACTERS:
            yield group
            group, size = [], 0
    yield group


def _values(found: Any) -> JsonObject:
    return {name: getattr(found, name) for name in found.__slots__}
