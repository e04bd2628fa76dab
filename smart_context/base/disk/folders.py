"""Opens files and folders below a trusted folder without following links.

Each folder is opened by its name in its parent, so replacing a folder by a link between two steps
redirects nothing. Pipes, sockets and devices are refused and never waited for.

    read_inside(root, "templates/a.j2", max_bytes=1 << 20)    the bytes of one file
    with opened(place) as folder: folder.names()              several steps in one folder

Every failure is an `OSError`: `FileNotFoundError`, `NotPlain`, `TooLarge`, or the system's own.

Not covered: a hard link can't be told from the file itself, and a mount point below the vault is
the administrator's. Where the system has no `dir_fd` (Windows), each name is looked at right
before it is used: links that lie there are refused, one that is made within these microseconds
is not.
"""

import contextlib
import errno
import os
import re
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self, TypeVar

from smart_context.base.disk.places import Place

if sys.platform == "darwin":
    import fcntl

OPEN_FLAGS = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a FIFO must not block the thread for ever
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
"""Follows no link as the last name, and waits for nothing."""

_SPECIAL = {  # the errors for a link, a socket, or a pipe without a reader
    errno.ELOOP,
    errno.EMLINK,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ENXIO,
    errno.EOPNOTSUPP,
    getattr(errno, "EFTYPE", errno.ELOOP),  # NetBSD
}
_STANDS_FOR_ANOTHER = 0x20000000  # Windows' bit of "name surrogates"
_BLOCK = 1 << 20
_ONE_SPELLING = re.compile(r"[\w .-]*[\w-]", re.ASCII)
"""A name whose only other spellings differ in case."""


T = TypeVar("T")


class NotPlain(OSError):
    """Not a plain file, or not a plain folder, such as a link, a pipe or a device."""

    def __init__(self, path: Path, wanted: str = "file") -> None:
        self.wanted = wanted
        other = "folder" if wanted == "file" else "file"
        super().__init__(
            errno.ELOOP, f"not a plain {wanted} (a link, a {other} or a device)", str(path)
        )

    def __str__(self) -> str:
        return f"{self.filename} is {self.strerror}"


class TooLarge(OSError):
    """A file with more bytes than its reader accepts."""

    def __init__(self, size: int, max_bytes: int) -> None:
        self.size = size
        super().__init__(errno.EFBIG, f"holds {size:,} bytes; at most {max_bytes:,} are read")

    def __str__(self) -> str:
        return f"it {self.strerror}"


def leads_elsewhere(status: os.stat_result) -> bool:
    """True for the status of a link, also of a junction of Windows.

    Windows marks other files similarly, such as those that OneDrive fetches when needed; they are
    not links.
    """
    tag = getattr(status, "st_reparse_tag", 0)
    return stat.S_ISLNK(status.st_mode) or bool(tag & _STANDS_FOR_ANOTHER)


def read_open(descriptor: int, size: int, max_bytes: int) -> bytes:
    """The content of an open file, even if it grows meanwhile.

    Args:
        descriptor: The file's descriptor, at its beginning.
        size: The size in its status.
        max_bytes: At most one byte more than this is read.

    Raises:
        TooLarge: It has more.
        OSError: The system refuses.
    """
    if size > max_bytes:
        raise TooLarge(size, max_bytes)
    content = os.read(descriptor, size + 1)
    if len(content) == size:
        return content
    pieces, length = [content], len(content)
    while length <= max_bytes and (
        piece := os.read(descriptor, min(max_bytes + 1 - length, _BLOCK))
    ):
        pieces.append(piece)
        length += len(piece)
    if length > max_bytes:
        raise TooLarge(length, max_bytes)
    return b"".join(pieces)


def path_of_open(descriptor: int) -> str | None:
    """The path of an open file without any link; `None` if the system can't tell."""
    try:
        if sys.platform == "darwin":
            found = fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024))
            return os.fsdecode(found.rstrip(b"\0"))
        return os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115 - a path costs more
    except OSError:
        return None


def explained(error: OSError, path: Path, wanted: str) -> OSError:
    """The error of opening a file; as a `NotPlain` if the file is no plain one."""
    return NotPlain(path, wanted) if error.errno in _SPECIAL else error


MOVES_OPEN_FILES = sys.platform != "win32"
"""False where a file can't be moved or removed while it is open."""

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
_CLOSED = -1
_TRIES, _TRIES_TO_OPEN, _PAUSE_S = 100, 5, 0.01

_BY_DESCRIPTOR = {os.open, os.stat, os.mkdir, os.unlink, os.rename} <= os.supports_dir_fd
_FOLDER_FLAGS = OPEN_FLAGS | os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
_TOP_FLAGS = _FOLDER_FLAGS & ~getattr(os, "O_NOFOLLOW", 0)


class Folder:
    """An open folder. Names are relative to it, and links are not followed.

    Attributes:
        descriptor: The folder's descriptor; `None` where folders can't be opened.
    """

    __slots__ = ("_path", "_prefix", "descriptor")

    def __init__(self, path: str, descriptor: int | None) -> None:
        self._path = path
        self._prefix = f"{path}{os.sep}" if descriptor is None else ""
        self.descriptor = descriptor

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def path(self) -> Path:
        """The path that it was opened by, for messages."""
        return Path(self._path)

    def close(self) -> None:
        """Close it."""
        if self.descriptor is not None and self.descriptor != _CLOSED:
            os.close(self.descriptor)
            self.descriptor = _CLOSED  # not `None`: names would be those of the working directory

    def open(self, name: str, flags: int = os.O_RDONLY, mode: int = PRIVATE_FILE) -> int:
        """The descriptor of a plain file, for its caller to close.

        Raises:
            FileNotFoundError: There is none.
            NotPlain: It is not a plain file; nothing was read or written.
            OSError: The system refuses.
        """
        return self._open(name, flags, mode)[0]

    def read(self, name: str, max_bytes: int) -> tuple[os.stat_result, bytes]:
        """All of a plain file, with its status from before it was read.

        Raises:
            TooLarge: It holds more than `max_bytes`.
            OSError: As `open`.
        """
        descriptor, status = self._open(name)
        try:
            return status, read_open(descriptor, status.st_size, max_bytes)
        finally:
            os.close(descriptor)

    def status(self, name: str) -> os.stat_result:
        """The status of a file, folder or link (the link itself); opens nothing.

        Raises:
            OSError: There is none, or the system refuses.
        """
        return os.stat(self._prefix + name, dir_fd=self.descriptor, follow_symlinks=False)

    def own_status(self) -> os.stat_result:
        """The status of the folder itself."""
        return self.path.stat() if self.descriptor is None else os.fstat(self.descriptor)

    def names(self) -> list[str]:
        """The names in it, unordered."""
        listed = self._path if self.descriptor is None else self.descriptor
        return os.listdir(listed)  # noqa: PTH208 - a Path can't be made of a descriptor

    def lists(self, name: str) -> bool:
        """True if something in it has that name, spelled as `names` gives it.

        Systems also open a file by other spellings: in another case, composed otherwise, shortened,
        or with a dot at the end.

        Raises:
            OSError: There is none, or the system refuses.
        """
        found, other = self.status(name), name.swapcase()
        if other != name and _ONE_SPELLING.fullmatch(name):
            try:
                if not os.path.samestat(found, self.status(other)):
                    return True
            except FileNotFoundError:
                return True
        return name in self.names()

    def entries(self) -> "list[os.DirEntry[str]]":
        """The entries in it, unordered, as from `os.scandir`: statuses are read on demand."""
        with os.scandir(self._path if self.descriptor is None else self.descriptor) as listing:
            return list(listing)

    def folder(self, name: str, *, make: bool = False) -> "Folder":
        """A folder in it, for its caller to close.

        Raises:
            FileNotFoundError: It is missing and `make` is false.
            NotPlain: It is a link or no folder.
            OSError: The system refuses.
        """
        if make:
            with contextlib.suppress(FileExistsError):
                self.make_folder(name)
        path = f"{self._path}{os.sep}{name}"
        if self.descriptor is None:
            self._refuse_link(name)
            if not stat.S_ISDIR(self.status(name).st_mode):
                raise NotPlain(Path(path), "folder")
            return Folder(path, None)
        try:
            return Folder(path, os.open(name, _FOLDER_FLAGS, dir_fd=self.descriptor))
        except OSError as error:
            raise explained(error, Path(path), "folder") from error

    def make_folder(self, name: str) -> None:
        """Make a folder that only its owner can read.

        Raises:
            FileExistsError: Something has that name.
            OSError: The system refuses.
        """
        os.mkdir(self._prefix + name, PRIVATE_FOLDER, dir_fd=self.descriptor)

    def remove(self, name: str) -> None:
        """Remove a file; of a link, the link itself.

        Raises:
            OSError: There is none, it is a folder, or the system refuses.
        """
        self._patiently(lambda: os.unlink(self._prefix + name, dir_fd=self.descriptor))

    def remove_folder(self, name: str) -> None:
        """Remove an empty folder.

        Raises:
            OSError: It is not a folder, it is not empty, or the system refuses.
        """
        self._patiently(lambda: os.rmdir(self._prefix + name, dir_fd=self.descriptor))

    def move(self, name: str, target: "Folder", new_name: str) -> None:
        """Move a file or folder, replacing a file of that name; follows no link.

        Raises:
            OSError: There is none, or the system refuses.
        """
        self._patiently(
            lambda: os.replace(
                self._prefix + name,
                target._prefix + new_name,  # noqa: SLF001 - of the same class
                src_dir_fd=self.descriptor,
                dst_dir_fd=target.descriptor,
            )
        )

    def touch(self, name: str) -> None:
        """Set the time of a plain file to now; raises `OSError` as `open`."""
        descriptor = self.open(name)
        try:
            os.utime(descriptor if os.utime in os.supports_fd else self._prefix + name)
        finally:
            os.close(descriptor)

    def sync(self) -> None:
        """Make changes of its names durable, where the system can."""
        if self.descriptor is not None:
            with contextlib.suppress(OSError):  # some network folders can't; the rename holds
                os.fsync(self.descriptor)

    def _patiently(self, change: Callable[[], T], tries: int = _TRIES) -> T:
        """Change a name; on Windows, retry while others use the file, for a second by default.

        Windows, where folders have no descriptors, refuses to move or remove an open file, and to
        open one that is just being moved.
        """
        pause = threading.Event()
        for _ in range(0 if self.descriptor is not None else tries):
            try:
                return change()
            except PermissionError:
                pause.wait(_PAUSE_S)
        return change()

    def _open(
        self, name: str, flags: int = os.O_RDONLY, mode: int = PRIVATE_FILE
    ) -> tuple[int, os.stat_result]:
        if self.descriptor is None:
            self._refuse_link(name)
        try:
            descriptor = self._patiently(
                lambda: os.open(
                    self._prefix + name, flags | OPEN_FLAGS, mode, dir_fd=self.descriptor
                ),
                _TRIES_TO_OPEN,
            )
        except OSError as error:
            raise explained(error, self.path / name, "file") from error
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            raise NotPlain(self.path / name)
        return descriptor, status

    def _refuse_link(self, name: str) -> None:
        """Refuse a link right before it would be followed, where the system can't."""
        with contextlib.suppress(FileNotFoundError):
            if leads_elsewhere(self.status(name)):
                raise NotPlain(self.path / name)


class SharedSync:
    """Makes names durable, once for all threads that wait meanwhile.

    A disk takes some milliseconds for a folder, however many of its names have changed.
    """

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._begun = 0
        self._synced: tuple[int, int] | None = None  # the folder of the last one: device, inode

    def __call__(self, folder: Folder) -> None:
        """As `Folder.sync`; another thread's counts only if it began after this call."""
        status = folder.own_status()
        which = status.st_dev, status.st_ino
        before = self._begun
        with self._turn:
            if self._begun > before and self._synced == which:
                return
            self._begun, self._synced = self._begun + 1, which
            folder.sync()


def opened(place: Place, *, make: bool = False) -> Folder:
    """Open the folder at a place; its caller closes it, as with `with`.

    Args:
        make: Make missing folders: `top` with the user's default mode, the rest private.

    Raises:
        FileNotFoundError: It is missing and `make` is false.
        NotPlain: A part of the path is a link, or not a folder.
        OSError: The system refuses.
    """
    folder = _top(place.top, make=make)
    for name in place.way:
        try:
            inner = folder.folder(name, make=make)
        finally:
            folder.close()
        folder = inner
    return folder


def read_inside(top: Path | Place, relative: str = "", *, max_bytes: int) -> bytes:
    """The bytes of a plain file below a trusted folder.

    Args:
        top: The trusted folder, or a place below one.
        relative: The path below it, with `/`; pass untrusted requests through `confine` first.
        max_bytes: A larger file is not read.

    Raises:
        FileNotFoundError: It is missing.
        NotPlain: It is not a plain file, or a folder on the way is a link.
        TooLarge: It has more than `max_bytes`.
        OSError: The system refuses.
        ValueError: If `relative` is not a path below a folder.
    """
    place = top if isinstance(top, Place) else Place(top)
    place = place / relative if relative else place
    with opened(place.parent) as folder:
        return folder.read(place.name, max_bytes)[1]


def is_folder(place: Place) -> bool:
    """True if the folder exists and can be opened without following a link."""
    try:
        opened(place).close()
    except OSError:
        return False
    return True


def names_inside(place: Place) -> Iterator[str]:
    """The names in a folder, sorted; none when it is missing or can't be listed."""
    with contextlib.suppress(OSError), opened(place) as folder:
        yield from sorted(folder.names())


def _top(path: Path, *, make: bool) -> Folder:
    if make:
        path.mkdir(parents=True, exist_ok=True)
    if not _BY_DESCRIPTOR:
        if not path.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        return Folder(str(path), None)
    return Folder(str(path), os.open(path, _TOP_FLAGS))
