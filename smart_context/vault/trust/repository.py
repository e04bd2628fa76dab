"""Recognises git repositories without running git."""

from pathlib import Path

_BARE = ("HEAD", "objects", "refs")


def is_repository(root: Path) -> bool:
    """True if `root`, or a folder above it, has a `.git` or is a bare repository."""
    folder = root.resolve()
    return any(_is_top(above) for above in (folder, *folder.parents))


def _is_top(folder: Path) -> bool:
    return (folder / ".git").exists() or all((folder / name).exists() for name in _BARE)
