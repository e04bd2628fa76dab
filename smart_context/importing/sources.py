"""The files to read chats from, as the child sees them: one file, or the entries of a ZIP.

The parent sends their bytes, since the child can't open files.
"""

import codecs
import sqlite3
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import PurePath, PurePosixPath
from typing import IO, Any

from smart_context.chat.exported import ATTACHED_FOLDER, is_attached_name
from smart_context.importing.found import NotReadable

MOST_BYTES = 8 << 30
"""The largest size of a file, unpacked."""

MOST_ASSET_BYTES = 64 << 20
MOST_FILES = 200_000
_RATIO, _SMALL = 400, 1 << 20
_READ_IN_ARCHIVES = (".json", ".jsonl", ".md", ".html")
_READ = (*_READ_IN_ARCHIVES, ".db", ".sqlite", ".zip")
_READ_AT_ONCE = 1 << 20
_ENCRYPTED = 0x1
_ZIP = b"PK\x03\x04"


@dataclass(slots=True, kw_only=True)
class Source:
    """One file that may hold chats."""

    name: str  # its path, for users
    size: int  # its size in bytes
    stream: Callable[[], Any]  # opens it
    is_alone: bool = False  # True if the user named the file itself, not its folder or archive
    database: sqlite3.Connection | None = None  # the open database, if it is one
    # for each conversation that exceeded the limits, by number, the reason
    refused: Mapping[int, str] = field(default_factory=dict)
    tell: Callable[[int | None], None] = lambda _: None  # called with the current conversation
    _count: int = 0
    _streams: list[IO[bytes]] = field(default_factory=list)  # the last stream opened

    @property
    def stem(self) -> str:
        """The file's name without its ending."""
        return PurePath(self.name).stem

    @property
    def passed(self) -> int:
        """The number of bytes read so far."""
        try:
            return self._streams[-1].tell() if self._streams else 0
        except ValueError:  # the stream is closed
            return self.size

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """Open the file; its bytes, in UTF-8.

        Raises:
            NotReadable: If it can't be opened.
        """
        try:
            with self.stream() as stream:
                self._streams[:] = [stream]
                yield _as_utf8(stream)
        except (OSError, RuntimeError, NotImplementedError, zipfile.BadZipFile, EOFError) as error:
            raise NotReadable(f"can't be read: {error}") from error
        except Exception as error:
            if type(error).__module__ == "zlib":
                raise NotReadable(f"is damaged: {error}") from error
            raise

    @contextmanager
    def conversation(self) -> Iterator[None]:
        """Surround the reading of one conversation, so that only this one is lost at a limit.

        Raises:
            NotReadable: If it exceeded the limits before.
        """
        number, self._count = self._count, self._count + 1
        if number in self.refused:
            raise NotReadable(self.refused[number])
        self.tell(number)
        yield
        self.tell(None)


def _as_utf8(stream: Any) -> IO[bytes]:
    """The bytes, converted to UTF-8 if they begin with the mark of UTF-16, as PowerShell's do."""
    is_wide = stream.peek(2)[:2] in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE}
    return codecs.EncodedFile(stream, "utf-8", "utf-16", "replace") if is_wide else stream


def on_one_line(stream: IO[bytes]) -> Iterator[bytes]:
    """A file's bytes as one line, in pieces; JSON keeps its meaning."""
    while piece := stream.read(_READ_AT_ONCE):
        yield piece.replace(b"\n", b" ").replace(b"\r", b" ")
    yield b"\n"


def archive_in(stream: Any, size: int) -> zipfile.ZipFile | None:
    """The ZIP in a file; `None` if the file is something else.

    Raises:
        NotReadable: If it is damaged, encrypted, or unpacks to too much.
    """
    if not zipfile.is_zipfile(stream):
        stream.seek(0)
        if stream.read(len(_ZIP)) == _ZIP:
            raise NotReadable("expected a ZIP, found a damaged one; download it again")
        return None
    try:
        archive = zipfile.ZipFile(stream)
    except (zipfile.BadZipFile, OSError, NotImplementedError) as error:
        raise NotReadable(f"expected a ZIP, found a damaged one: {error}") from error
    entries = archive.infolist()
    if len(entries) > MOST_FILES:
        raise NotReadable(f"has more than {MOST_FILES:,} files")
    for entry in entries:
        if is_read_in_archive(entry):
            check_entry(entry)
    unpacked = sum(entry.file_size for entry in entries)
    if _is_bomb(unpacked, size):  # entries may share their bytes
        raise NotReadable(f"would unpack to {unpacked:,} bytes, which no export needs")
    return archive


def is_read(path: PurePath) -> bool:
    """True for files that may hold chats, but not for attached files of an export from here."""
    is_attached = path.parent.name == ATTACHED_FOLDER and is_attached_name(path.name)
    return path.suffix.lower() in _READ and not is_attached


def is_read_in_archive(entry: zipfile.ZipInfo) -> bool:
    """True for entries that may hold chats."""
    path = PurePosixPath(entry.filename)
    return is_read(path) and path.suffix.lower() in _READ_IN_ARCHIVES and not entry.is_dir()


def check_entry(entry: zipfile.ZipInfo) -> None:
    """Refuse an entry that can't be read safely.

    Raises:
        NotReadable: If it is encrypted, or unpacks to far more than any export.
    """
    if entry.flag_bits & _ENCRYPTED:
        raise NotReadable(
            f"{entry.filename} is encrypted; unpack it yourself, then import the folder"
        )
    if entry.file_size > MOST_BYTES or _is_bomb(entry.file_size, entry.compress_size):
        raise NotReadable(
            f"{entry.filename} would unpack to {entry.file_size:,} bytes, which no export needs"
        )


def _is_bomb(unpacked: int, packed: int) -> bool:
    return unpacked > _SMALL and unpacked > _RATIO * max(packed, 1)
