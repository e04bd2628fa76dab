"""The git repository that a folder belongs to, found without git."""

import os
from dataclasses import dataclass
from pathlib import Path

from smart_context.base.disk.folders import read_inside

_MAX_LINE_BYTES = 1 << 16
_ANOTHER_MACHINE = ("//", "\\\\")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkTree:
    """The files of a repository."""

    top: Path  # the folder that contains `.git`; without links
    below: str  # the requested folder, relative to `top`; empty, or with a final slash


def work_tree_of(folder: Path) -> WorkTree | None:
    """The work tree that contains a folder, found without git."""
    inner = folder.resolve()
    for top in (inner, *inner.parents):
        git = top / ".git"
        head = git / "HEAD"
        if git.is_file() or head.exists() or head.is_symlink():
            below = inner.relative_to(top).as_posix()
            return WorkTree(top=top, below="" if below == "." else f"{below}/")
    return None


def folders_of(top: Path) -> tuple[Path, Path]:
    """The folder with a work tree's HEAD, and the folder that all work trees share.

    Raises:
        OSError: The system refuses.
        RuntimeError: Circular links.
        ValueError: An impossible name, or one on another machine.
    """
    pointer = top / ".git"
    named = line_of(pointer, "gitdir: ") if pointer.is_file() else ".git"
    if named.startswith(_ANOTHER_MACHINE):  # Windows would send it the user's credentials
        raise ValueError(f"{pointer} leads to another machine")
    git = (top / named).resolve()
    return git, (git / line_of(git / "commondir")).resolve()


def line_of(path: Path, prefix: str = "") -> str:
    """The line in one of git's small files, without the prefix; empty if missing.

    Raises:
        OSError: It can't be read, so the line is not known.
    """
    line = os.fsdecode(content_of(path, _MAX_LINE_BYTES)).rstrip("\r\n")
    return line.removeprefix(prefix) if line.startswith(prefix) else ""


def content_of(path: Path, max_bytes: int) -> bytes:
    """The bytes of a plain file of git's own, which may be a link; none if it is missing.

    Raises:
        OSError: It can't be read, or is larger.
    """
    try:
        place = path.resolve()
        return read_inside(place.parent, place.name, max_bytes=max_bytes)
    except (FileNotFoundError, NotADirectoryError):
        return b""
