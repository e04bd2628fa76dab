"""The files of a vault: what is looked at, and what is never looked at."""

import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from smart_context.vault.ignore import IgnoreRules, parse_ignore
from smart_context.vault.paths import is_inside

_IGNORE_FILES = (".gitignore", ".scignore")
_MAX_IGNORE_BYTES = 1 << 20

FileStamp = tuple[str, int, int, int]
"""Path relative to the vault, time of change in ns, size in bytes, inode: the same stamp, the
same text."""

_Scopes = tuple[tuple[int, IgnoreRules], ...]
"""The ignore rules in force, innermost first, each with the length of its folder's prefix."""


def readable_files(
    root: Path, *, below: str = "", without: Collection[str] = (), hidden: bool = False
) -> Iterator[str]:
    """The files of a vault that may be looked at, relative to it, sorted.

    Left out: what a `.gitignore` or `.scignore` says (nested ones and `!` count as in git),
    names that begin with a dot, links to folders and links out of the vault, and what is no
    regular file. Whether a file is text is the reader's business.

    Args:
        root: The vault.
        below: Only what is in this folder, relative to the vault; the ignore files above it count.
        without: Folders to leave out besides, relative to the vault; such as the memory folder.
        hidden: Take names that begin with a dot too, other than `.git` and the ignore files.
    """
    stamps = file_stamps(root, below=below, without=without, hidden=hidden)
    yield from sorted(stamp[0] for stamp in stamps)


def file_stamps(
    root: Path, *, below: str = "", without: Collection[str] = (), hidden: bool = False
) -> list[FileStamp]:
    """The stamps of `readable_files`, in no order. Folders that can't be read are empty."""
    walk = _Walk(root, frozenset(without), hidden)
    prefix = below.strip("/")
    scopes: _Scopes = ()
    folder = ""
    for part in prefix.split("/") if prefix else ():
        scopes = walk.scopes_of(folder, scopes)
        folder += part + "/"
        if walk.leaves_out(folder, part, scopes) or (root / folder).is_symlink():
            return []
    return walk.stamps_below(folder, scopes)


@dataclass(frozen=True, slots=True)
class _Walk:
    root: Path
    without: frozenset[str]
    hidden: bool

    def leaves_out(self, folder: str, name: str, scopes: _Scopes) -> bool:
        return (
            self._hides(name)
            or folder[:-1] in self.without
            or (bool(scopes) and _is_ignored(folder, scopes))
        )

    def _hides(self, name: str) -> bool:
        if not name.startswith("."):
            return False
        return not self.hidden or name == ".git" or name in _IGNORE_FILES

    def scopes_of(self, folder: str, scopes: _Scopes) -> _Scopes:
        rules = _rules_in(self.root / folder)
        return scopes if rules is None else ((len(folder), rules), *scopes)

    def stamps_below(self, folder: str, scopes: _Scopes) -> list[FileStamp]:
        stamps: list[FileStamp] = []
        pending = [(folder, scopes)]
        while pending:
            prefix, outer = pending.pop()
            try:
                with os.scandir(f"{self.root}{os.sep}{prefix}") as listing:
                    entries = list(listing)
            except OSError:
                continue
            inner = outer
            if any(entry.name in _IGNORE_FILES for entry in entries):
                inner = self.scopes_of(prefix, outer)
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    child = f"{prefix}{entry.name}/"
                    if not self.leaves_out(child, entry.name, inner):
                        pending.append((child, inner))
                elif stamp := self._stamp(entry, prefix, inner):
                    stamps.append(stamp)
        return stamps

    def _stamp(self, entry: "os.DirEntry[str]", prefix: str, scopes: _Scopes) -> FileStamp | None:
        path = prefix + entry.name
        if self._hides(entry.name) or (scopes and _is_ignored(path, scopes)):
            return None
        if entry.is_symlink() and not is_inside(self.root, Path(entry.path)):
            return None
        try:
            status = entry.stat()
        except OSError:
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        return path, status.st_mtime_ns, status.st_size, status.st_ino


def _is_ignored(path: str, scopes: _Scopes) -> bool:
    for prefix_length, rules in scopes:
        verdict = rules.verdict(path[prefix_length:])
        if verdict is not None:
            return verdict
    return False


def _rules_in(folder: Path) -> IgnoreRules | None:
    texts = [text for name in _IGNORE_FILES if (text := _ignore_text(folder / name))]
    return parse_ignore("\n".join(texts)) if texts else None


def _ignore_text(path: Path) -> str:
    try:
        if not path.is_file() or path.stat().st_size > _MAX_IGNORE_BYTES:
            return ""
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
