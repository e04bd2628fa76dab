"""The files of a vault: what is looked at, and what is never looked at."""

import os
import stat
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from smart_context.text.names import shown
from smart_context.vault.files import SIGNED
from smart_context.vault.ignore import MAX_GLOBS, MAX_LINES, IgnoreRules, parse_ignore
from smart_context.vault.paths import is_inside

IGNORE_FILES = (".gitignore", ".scignore")
"""In any folder; the second is ours and has the last word."""

_MAX_IGNORE_CHARACTERS = 5 << 20

_QUICK_S = 0.25
_QUICK_WORK_S = 0.025
_REST = 20

FileStamp = tuple[str, int, int, int]
"""Path relative to the vault, time of change in ns, size in bytes, inode: the same stamp, the
same text."""

OnCut = Callable[[str, int], None]
"""Called with a folder, which ends in `/`, and how many lines of its ignore files don't count."""

_Scopes = tuple[tuple[int, IgnoreRules], ...]
"""The ignore rules in force, innermost first, each with the length of its folder's prefix."""


def readable_files(
    root: Path, *, below: str = "", without: Collection[str] = (), hidden: bool = False
) -> Iterator[str]:
    """The files of a vault that may be looked at, relative to it, sorted.

    Left out: what a `.gitignore` or `.scignore` says (nested ones and `!` count as in git),
    names that begin with a dot or are no Unicode, links to folders and links out of the vault, and
    what is no regular file. Whether a file is text is the reader's business.

    Args:
        root: The vault.
        below: Only what is in this folder, relative to the vault; the ignore files above it count.
        without: Folders to leave out besides, relative to the vault; such as the memory folder.
        hidden: Take names that begin with a dot too, other than `.git` and the ignore files.
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
    """The stamps of `readable_files`, in no order. Folders that can't be read are empty."""
    walk = _Walk(root, frozenset(without), hidden, on_cut)
    folder = below.strip("/") + "/" if below.strip("/") else ""
    scopes = walk.scopes_above(folder)
    return [] if scopes is None else walk.stamps_below(folder, scopes)


def cut_words(folder: str, lines: int) -> str:
    """Says that lines of a folder's ignore files don't count, as `OnCut` is told."""
    where = shown(folder) if folder else "the vault's top folder"
    return (
        f"{lines:,} lines of {' and '.join(IGNORE_FILES)} in {where} don't count:"
        f" at most {MAX_GLOBS:,} patterns with wildcards and {MAX_LINES:,} lines do"
    )


def rest_after(look_s: float, work_s: float) -> float:
    """How long nobody need look at all files again, in seconds; 0 after a quick look.

    After another, no more than a twentieth of the time is spent on looking. What counts is the
    work of the look itself, so a busy machine makes no small vault look large.

    Args:
        look_s: How long the look took.
        work_s: How long of this its thread was at work.
    """
    return 0.0 if look_s < _QUICK_S and work_s < _QUICK_WORK_S else _REST * look_s


def stamp_of(root: Path, path: str, *, without: Collection[str] = ()) -> FileStamp | None:
    """The stamp of one file; `None` when `readable_files` would not give it."""
    walk = _Walk(root, frozenset(without), hidden=False)
    folder = path.rpartition("/")[0]
    prefix = folder + "/" if folder else ""
    scopes = walk.scopes_above(prefix)
    if scopes is None:
        return None
    scopes = walk.scopes_of(prefix, scopes)
    full_path = root / path
    try:
        return walk.stamp(path, scopes, full_path.stat(), is_link=full_path.is_symlink())
    except (OSError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class _Walk:
    root: Path
    without: frozenset[str]
    hidden: bool
    on_cut: OnCut | None = None

    def leaves_out(self, folder: str, name: str, scopes: _Scopes) -> bool:
        return (
            self._hides(name)
            or folder[:-1] in self.without
            or (bool(scopes) and _is_ignored(folder, scopes))
        )

    def _hides(self, name: str) -> bool:
        if not name.startswith("."):
            return False
        return not self.hidden or name == ".git" or name in IGNORE_FILES

    def scopes_above(self, folder: str) -> _Scopes | None:
        """The rules from outside a folder; `None` when the folder itself is left out."""
        scopes: _Scopes = ()
        prefix = ""
        for part in folder.split("/")[:-1]:
            scopes = self.scopes_of(prefix, scopes)
            prefix += part + "/"
            if self.leaves_out(prefix, part, scopes) or (self.root / prefix).is_symlink():
                return None
        return scopes

    def scopes_of(self, folder: str, scopes: _Scopes) -> _Scopes:
        rules = _rules_in(self.root / folder)
        if rules is not None and rules.left_out and self.on_cut is not None:
            self.on_cut(folder, rules.left_out)
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
            if any(entry.name in IGNORE_FILES for entry in entries):
                inner = self.scopes_of(prefix, outer)
            for entry in entries:
                name = entry.name
                if entry.is_dir(follow_symlinks=False):
                    child = f"{prefix}{name}/"
                    if not self.leaves_out(child, name, inner):
                        pending.append((child, inner))
                elif stamp := self._stamp_of(entry, prefix, inner):
                    stamps.append(stamp)
        return stamps

    def _stamp_of(
        self, entry: "os.DirEntry[str]", prefix: str, scopes: _Scopes
    ) -> FileStamp | None:
        """As `stamp`; most files are plain, and are told so without asking much."""
        name = entry.name
        path = prefix + name
        is_link = entry.is_symlink()
        try:
            if is_link or name[0] == "." or not path.isascii():
                return self.stamp(path, scopes, entry.stat(), is_link=is_link)
            if scopes and _is_ignored(path, scopes):
                return None
            status = entry.stat()
        except OSError:
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        return path, status.st_mtime_ns, status.st_size, status.st_ino & SIGNED

    def stamp(
        self, path: str, scopes: _Scopes, status: os.stat_result, *, is_link: bool
    ) -> FileStamp | None:
        if self._hides(path.rpartition("/")[2]) or (scopes and _is_ignored(path, scopes)):
            return None
        if is_link and not is_inside(self.root, self.root / path):
            return None
        if not stat.S_ISREG(status.st_mode) or not (path.isascii() or _is_unicode(path)):
            return None
        return path, status.st_mtime_ns, status.st_size, status.st_ino & SIGNED


def _is_unicode(path: str) -> bool:
    """Bytes that are no UTF-8 come as lone surrogates, which no prompt and no page could show."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_ignored(path: str, scopes: _Scopes) -> bool:
    for prefix_length, rules in scopes:
        verdict = rules.verdict(path[prefix_length:])
        if verdict is not None:
            return verdict
    return False


def _rules_in(folder: Path) -> IgnoreRules | None:
    texts = [text for name in IGNORE_FILES if (text := _ignore_text(folder / name))]
    return parse_ignore("\n".join(texts)) if texts else None


def _ignore_text(path: Path) -> str:
    try:
        if not path.is_file():
            return ""
        with path.open(encoding="utf-8", errors="surrogateescape") as file:
            return file.read(_MAX_IGNORE_CHARACTERS)
    except OSError:
        return ""
