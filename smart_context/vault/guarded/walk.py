"""Walks the files of a vault that may be read."""

import contextlib
import os
import stat
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from smart_context.base.disk.folders import Folder, opened
from smart_context.base.disk.places import Place
from smart_context.base.text.names import shown
from smart_context.vault.guarded.files import INODE_BITS
from smart_context.vault.guarded.ignore import MAX_GLOBS, MAX_LINES
from smart_context.vault.guarded.paths import is_inside
from smart_context.vault.guarded.scopes import (
    IGNORE_FILES,
    RULE_PLACES,
    OnCut,
    Scopes,
    is_ignored,
    scopes_above,
    with_rules_of,
)

_DEEPEST = 128  # nested folders; each stays open while those below it are walked

_QUICK_S = 0.25
_QUICK_WORK_S = 0.025
_REST = 20

FileStamp = tuple[str, int, int, int]
"""Path relative to the vault, time of change in ns, size in bytes, and inode.

The same stamp means the same text.
"""


def readable_files(
    root: Path, *, below: str = "", without: Collection[str] = (), hidden: bool = False
) -> Iterator[str]:
    """The files of a vault that may be read, relative to it, sorted.

    Excludes what `.gitignore` and `.scignore` exclude (nested ones and `!` work as in git), names
    that begin with a dot or are not Unicode, links to folders, out of the vault and to what is
    excluded, and anything that is not a regular file. Does not check whether a file is text.

    Args:
        below: Walk only this folder, relative to the vault; ignore files above it count.
        without: More folders to exclude, relative to the vault, such as the memory folder.
        hidden: Include names that begin with a dot, except `.git` and the ignore files.
    """
    stamps = file_stamps(root, below=below, without=without, hidden=hidden)
    yield from sorted(stamp[0] for stamp in stamps)


def file_stamps(
    root: Path,
    *,
    below: str = "",
    without: Collection[str] = (),
    hidden: bool = False,
    on_cut: OnCut | None = None,
) -> list[FileStamp]:
    """The stamps of `readable_files`, unordered; unreadable folders count as empty."""
    return _found(_Walk(root, frozenset(without), hidden, on_cut), below).stamps


def readable_folders(root: Path, *, without: Collection[str] = ()) -> list[str]:
    """The folders that `readable_files` walks, unordered; `""` is the vault itself."""
    found = _found(_Walk(root, frozenset(without), hidden=False))
    return [folder for folder in found.folders if _is_unicode(folder)]


def cut_words(folder: str, lines: int) -> str:
    """The warning about lines of a folder's ignore files that are not used."""
    where = shown(folder) if folder else "the vault's top folder"
    if not lines:
        return f"an ignore file in {where} can't be read or is over 5 MiB, so all there is left out"
    return (
        f"{lines:,} lines of {' and '.join(IGNORE_FILES)} in {where} don't count:"
        f" at most {MAX_GLOBS:,} patterns with wildcards and {MAX_LINES:,} lines do"
    )


def rest_after(look_s: float, work_s: float) -> float:
    """Seconds to wait before the next look at all files; 0 after a quick one.

    After a slow look, at most a twentieth of the time goes into looking. A quick look takes less
    than 25 ms of CPU time; its clock time may be ten times that, so that a small vault is not taken
    for a large one on a busy machine.

    Args:
        work_s: The CPU time of its thread.
    """
    return 0.0 if look_s < _QUICK_S and work_s < _QUICK_WORK_S else _REST * look_s


def stamp_of(root: Path, path: str, *, without: Collection[str] = ()) -> FileStamp | None:
    """The stamp of one file; `None` if `readable_files` does not list it in this spelling."""
    with contextlib.suppress(OSError, ValueError):
        return _Walk(root, frozenset(without), hidden=False).one(path)
    return None


@dataclass(frozen=True, slots=True)
class _FoundEntry:
    stamps: list[FileStamp] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)


def _found(walk: "_Walk", below: str = "") -> _FoundEntry:
    found = _FoundEntry()
    with contextlib.suppress(OSError, ValueError):
        folder, prefix, scopes = walk.reach(below.strip("/"))
        with folder:
            walk.collect(folder, prefix, scopes, found)
    return found


@dataclass(frozen=True, slots=True)
class _Walk:
    root: Path
    without: frozenset[str]
    hidden: bool
    on_cut: OnCut | None = None

    def leaves_out(self, folder: str, name: str, scopes: Scopes) -> bool:
        return (
            self._hides(name)
            or self._is_without(folder[:-1])
            or (bool(scopes) and is_ignored(folder, scopes))
        )

    def _hides(self, name: str) -> bool:
        if not name.startswith("."):
            return False
        return not self.hidden or name.lower() in RULE_PLACES

    def _is_without(self, folder: str) -> bool:
        """True for one of the folders to leave out, in any spelling of its name."""
        if folder in self.without:
            return True
        spellings = (each for each in self.without if _folded(each) == _folded(folder))
        return any(self._is_same(folder, each) for each in spellings)

    def _is_same(self, folder: str, other: str) -> bool:
        try:
            return (self.root / folder).samefile(self.root / other)
        except (OSError, ValueError):
            return False

    def reach(self, way: str) -> tuple[Folder, str, Scopes]:
        """A folder, its prefix, and the rules from above it; the caller closes it.

        Raises:
            OSError: It is missing, excluded or spelled in another way, or a link is on the way.
            ValueError: Not a possible path.
        """
        folder, prefix = opened(Place(self.root)), ""
        scopes = scopes_above(self.root, self.on_cut)
        for part in (Place(self.root) / way).way if way else ():
            with folder:
                scopes = with_rules_of(folder, prefix, scopes, self.on_cut)
                prefix += part + "/"
                if not folder.lists(part) or self.leaves_out(prefix, part, scopes):
                    raise FileNotFoundError(prefix)
                inner = folder.folder(part)
            folder = inner
        return folder, prefix, scopes

    def collect(
        self,
        folder: Folder,
        prefix: str,
        outer: Scopes,
        found: _FoundEntry,
        depth: int = _DEEPEST,
    ) -> None:
        """Add the files in a folder, at any depth; skip folders that can't be read."""
        try:
            entries = folder.entries()
        except OSError:
            return
        found.folders.append(prefix[:-1])
        scopes = outer
        if any(entry.name.lower() in RULE_PLACES for entry in entries):
            scopes = with_rules_of(folder, prefix, outer, self.on_cut)
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                if stamp := self._stamp_of(entry, prefix, scopes):
                    found.stamps.append(stamp)
                continue
            child = f"{prefix}{entry.name}/"
            if depth and not self.leaves_out(child, entry.name, scopes):
                with contextlib.suppress(OSError), folder.folder(entry.name) as inner:
                    self.collect(inner, child, scopes, found, depth - 1)

    def _stamp_of(self, entry: "os.DirEntry[str]", prefix: str, scopes: Scopes) -> FileStamp | None:
        """As `stamp`, but faster for plain files, the usual case."""
        name = entry.name
        path = prefix + name
        try:
            if entry.is_symlink():
                return self.stamp(path, scopes, None)
            if scopes and is_ignored(path, scopes):
                return None
            status = entry.stat()
            if name[0] == "." or not path.isascii():
                return self.stamp(path, scopes, status)
        except OSError:
            return None
        is_plain = stat.S_ISREG(status.st_mode)
        stamp = path, status.st_mtime_ns, status.st_size, status.st_ino & INODE_BITS
        return stamp if is_plain else None

    def one(self, path: str) -> FileStamp | None:
        """The stamp of one file; `None` if it is left out.

        Raises:
            OSError: It is missing, or a folder on the way is missing or can't be read.
            ValueError: Not a possible path.
        """
        way, _, name = path.rpartition("/")
        folder, prefix, scopes = self.reach(way)
        with folder:
            scopes = with_rules_of(folder, prefix, scopes, self.on_cut)
            if not folder.lists(name):
                return None
            status = folder.status(name)
        return self.stamp(path, scopes, None if stat.S_ISLNK(status.st_mode) else status)

    def stamp(self, path: str, scopes: Scopes, status: os.stat_result | None) -> FileStamp | None:
        """The stamp of a file with this status; for a link (`None`), of its target.

        A link to a file that is left out is left out, too.
        """
        if self._hides(path.rpartition("/")[2]) or (scopes and is_ignored(path, scopes)):
            return None
        if status is None:
            if not is_inside(self.root, self.root / path):
                return None
            (self.root / path).stat()  # links in a circle end here
            target = (self.root / path).resolve().relative_to(self.root.resolve())
            found = self.one(target.as_posix())
            return found and (path, *found[1:])
        if not stat.S_ISREG(status.st_mode) or not (path.isascii() or _is_unicode(path)):
            return None
        return path, status.st_mtime_ns, status.st_size, status.st_ino & INODE_BITS


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def _is_unicode(path: str) -> bool:
    """True for a name in Unicode; other bytes arrive as lone surrogates."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
