"""Finds the git repository of a folder, and tells whether it may be read.

A folder from an archive can contain a `.git` that points to another repository of the user, or
links to that one's HEAD, index or branches. Changes staged there would then be shown as the
folder's own.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from smart_context.base.disk.folders import read_inside

_PARTS = ("index", "packed-refs", "refs", "reftable")
"""The parts that lead git to the contents it shows, besides HEAD, for which git checks links."""
_MAX_REFERENCES = 5  # git's own limit: HEAD names a branch, which may name another
_MAX_LINE_BYTES = 1 << 16
_TRUE = {"true", "yes", "on", "1"}


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


def why_not_its_own(tree: WorkTree, configuration: Mapping[str, str]) -> str:
    """Why the repository may not belong to the work tree; empty if it does."""
    try:
        return _fault(tree, configuration)
    except (OSError, RuntimeError, ValueError):  # circular links, impossible names
        return "parts of its .git can't be found"


def _fault(tree: WorkTree, configuration: Mapping[str, str]) -> str:
    pointer = tree.top / ".git"
    git = (tree.top / _value(pointer, "gitdir: ") if pointer.is_file() else pointer).resolve()
    common = (git / _value(git / "commondir")).resolve()
    if common != git:  # one of the work trees that `git worktree add` makes
        knows_it = (git / _value(git / "gitdir")).resolve() == pointer
        if git.parent != common / "worktrees" or not knows_it:
            return f"{git} belongs to another work tree; if this one was moved: git worktree repair"
    elif configuration.get("core.bare", "").lower() in _TRUE:
        return "it is a bare repository, which has no files"
    elif named_tree := configuration.get("core.worktree"):
        if (git / named_tree).resolve() != tree.top:
            return f"{git} belongs to another work tree, {named_tree}"
    elif not git.is_relative_to(tree.top):
        return f"{git} is not in it; if it is its own: git config core.worktree {tree.top}"
    return _strays(git, common)


def _strays(git: Path, common: Path) -> str:
    for name in (*_PARTS, *_branches(git, common)):
        for part in (git / name, common / name):
            place = part.resolve()
            if not (place.is_relative_to(git) or place.is_relative_to(common)):
                return f"{part} is a link out of it"
    return ""


def _branches(git: Path, common: Path) -> Iterator[str]:
    name = _value(git / "HEAD", "ref:").strip()
    for _ in range(_MAX_REFERENCES):
        if not name:
            return
        yield name
        name = _value(common / name, "ref:").strip()


def _value(path: Path, prefix: str = "") -> str:
    """The line in one of git's small files; empty if missing."""
    try:
        place = path.resolve()
        line = os.fsdecode(read_inside(place.parent, place.name, max_bytes=_MAX_LINE_BYTES))
    except OSError:
        return ""
    line = line.rstrip("\r\n")
    return line.removeprefix(prefix) if line.startswith(prefix) else ""
