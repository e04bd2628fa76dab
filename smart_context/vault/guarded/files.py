"""Reads a file's text, or gives the reason why there is none."""

import codecs
import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from smart_context.base.disk.folders import (
    OPEN_FLAGS,
    Folder,
    NotPlain,
    TooLarge,
    opened,
    path_of_open,
    read_open,
)
from smart_context.base.disk.places import Place, place_below

MAX_TEXT_BYTES: Final = 64 << 20
"""Larger files are not read as text."""

INODE_BITS: Final = 0 if sys.platform == "win32" else (1 << 63) - 1
"""The bits of an inode's number that stamps keep: those that fit into a database's integer.

No bits on Windows, where the entries of a folder don't have the number.
"""

_WIDE = (  # the marks of UTF-32 come first: they begin with those of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_PROBED_BYTES = 1024
_WIDE_SHARE, _LEAST_WIDE = 0.7, 4

_Content = tuple[os.stat_result, bytes]


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a file, with the file's state when it was read."""

    text: str  # the text, with its line ends and byte order mark
    mtime_ns: int  # when the file was last changed, in ns
    size: int  # its length in bytes
    inode: int


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The reason why a file has no text."""

    reason: str  # for users, without the path
    size: int | None = None  # the file's length in bytes if it is too large; else `None`


class VaultFiles:
    """Reads files of a vault; follows only links that stay in the vault.

    In a `with` statement the last file's folder stays open, which speeds up reading many in order.
    """

    def __init__(self, root: str | Path) -> None:
        self._root = Path(root)
        self._prefix = ""
        self._keeps = False
        self._folder: Folder | None = None
        self._way = ""

    def __enter__(self) -> Self:
        self._keeps = True
        return self

    def __exit__(self, *_: object) -> None:
        self._keeps = False
        self._close()

    def read(self, path: str, *, max_bytes: int = MAX_TEXT_BYTES) -> FileText | Unreadable:
        """The text of a regular file, or the reason why there is none; never raises.

        Args:
            path: Relative to the vault.
            max_bytes: A larger file is not read.
        """
        try:
            status, content = self._content(path, max_bytes)
            text = text_of(content)
        except (OSError, ValueError) as error:
            return _why(error)
        return FileText(text, status.st_mtime_ns, status.st_size, status.st_ino & INODE_BITS)

    def content(self, path: str, *, max_bytes: int) -> bytes:
        """The bytes of a regular file.

        Raises:
            TooLarge: It holds more than `max_bytes`.
            OSError: Not a regular file, a link out of the vault, or the system refuses.
            ValueError: If `path` is not a path below a folder.
        """
        return self._content(path, max_bytes)[1]

    def _content(self, path: str, max_bytes: int) -> _Content:
        try:
            if self._keeps:
                way, _, name = path.rpartition("/")
                return self._opened(way).read(name, max_bytes)
            return self._quickly(path, max_bytes) or _surely(Place(self._root) / path, max_bytes)
        except NotPlain:
            place = Place(self._root) / path
            return _surely(place_below(self._root, place.path), max_bytes)

    def _opened(self, way: str) -> Folder:
        if self._folder is None or way != self._way:
            self._close()
            place = Place(self._root)
            self._folder = opened(place / way if way else place)
            self._way = way
        return self._folder

    def _close(self) -> None:
        if self._folder is not None:
            self._folder.close()
            self._folder = None

    def _quickly(self, path: str, max_bytes: int) -> _Content | None:
        """The file opened by its whole path, if no link was on the way; else `None`.

        Takes half the time of opening each folder on the way.
        """
        if not self._prefix:
            self._prefix = f"{os.path.realpath(self._root)}{os.sep}"
        wanted = self._prefix + path
        try:
            descriptor = os.open(wanted, os.O_RDONLY | OPEN_FLAGS)
        except FileNotFoundError:
            raise
        except OSError:
            return None
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or path_of_open(descriptor) != wanted:
                return None
            return status, read_open(descriptor, status.st_size, max_bytes)
        finally:
            os.close(descriptor)


class NotText(ValueError):
    """The bytes of a file are not text; the message gives the reason."""


def text_of(content: bytes, *, probed: int | None = None) -> str:
    """The text of a file in UTF-8, or in UTF-16 or UTF-32 with a byte order mark.

    Args:
        probed: In UTF-8, the number of first bytes that may not hold a NUL; by default all.

    Raises:
        NotText: It is something else.
    """
    encoding = next((name for mark, name in _WIDE if content.startswith(mark)), "utf-8")
    if encoding == "utf-8" and content.find(b"\0", 0, probed) >= 0:
        raise NotText(
            "UTF-16 text without a byte order mark; save it as UTF-8"
            if _is_wide(content[:_PROBED_BYTES])
            else "binary file"
        )
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise NotText(f"not {encoding.upper()} text (byte {error.start})") from error
    if encoding != "utf-8" and "\0" in text:
        raise NotText("binary file")
    return text


def _is_wide(content: bytes) -> bool:
    """True if most of the bytes at even, or at odd, places are NULs, and no others are."""
    few, many = sorted([content[::2].count(0), content[1::2].count(0)])
    return few == 0 and many >= max(_LEAST_WIDE, len(content) // 2 * _WIDE_SHARE)


def read_text(
    root: str | Path, path: str, *, max_bytes: int = MAX_TEXT_BYTES
) -> FileText | Unreadable:
    """The text of one file; as `VaultFiles.read`."""
    return VaultFiles(root).read(path, max_bytes=max_bytes)


def _surely(place: Place, max_bytes: int) -> _Content:
    with opened(place.parent) as folder:
        return folder.read(place.name, max_bytes)


def _why(error: OSError | ValueError) -> Unreadable:
    match error:
        case TooLarge():
            return Unreadable(f"file size {error.size} bytes exceeds {MAX_TEXT_BYTES}", error.size)
        case NotText():
            return Unreadable(str(error))
        case OSError():
            return Unreadable(error.strerror or type(error).__name__)
        case _:
            return Unreadable("not a possible file name")
