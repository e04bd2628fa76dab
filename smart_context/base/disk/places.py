"""Paths below a trusted folder."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_NO_NAMES = frozenset({"", ".", ".."})


@dataclass(frozen=True, slots=True)
class Place:
    """A file or folder below a folder that is trusted, such as the vault's.

    Opening it (`base/disk/folders.py`, `base/disk/files.py`) follows no link below `top`; `top`
    itself may be a link or lie behind one. Folders made on the way are private.
    """

    top: Path  # the trusted folder
    way: tuple[str, ...] = ()  # the names from `top` down; none for `top` itself

    def __truediv__(self, relative: str) -> "Place":
        """The place of a relative path with `/`.

        Raises:
            ValueError: If a part of it is empty, `.` or `..`, or holds a NUL or a separator.
        """
        names = tuple(relative.split("/"))
        if "\0" in relative or not _NO_NAMES.isdisjoint(names) or _is_foreign(relative):
            raise ValueError(f"not a path below a folder: {relative!r}")
        return Place(self.top, self.way + names)

    def __str__(self) -> str:
        return str(self.path)

    @property
    def path(self) -> Path:
        """The whole path, for messages; opening it would follow links."""
        return self.top.joinpath(*self.way)

    @property
    def name(self) -> str:
        """The last name; that of `top` for `top` itself."""
        return self.way[-1] if self.way else self.top.name

    @property
    def parent(self) -> "Place":
        """The folder that it is in; of `top`, the folder that `top` is in."""
        return Place(self.top, self.way[:-1]) if self.way else Place(self.top.parent)


def place_of(path: Path | Place) -> Place:
    """The place of a path: its folder is trusted, the file itself must not be a link."""
    return path if isinstance(path, Place) else Place(path.parent, (path.name,))


def folder_of(path: Path | Place) -> Place:
    """The place of a folder; a plain path counts as trusted."""
    return path if isinstance(path, Place) else Place(path)


def place_below(top: Path, folder: Path) -> Place:
    """The place of a folder that the user named, which may lie behind a link.

    A link that stays below `top` is followed here, once. One that leaves `top` stays in the
    path and is refused when opened. A folder elsewhere is trusted.
    """
    if not folder.is_relative_to(top):
        return Place(folder)
    real_top, real = Path(os.path.realpath(top)), Path(os.path.realpath(folder))
    if real.is_relative_to(real_top):
        return Place(real_top, real.relative_to(real_top).parts)
    return Place(top, folder.relative_to(top).parts)


def relative_or_whole(
    path: str | Path, start: Path, relpath: Callable[[str, str], str] = os.path.relpath
) -> str:
    """The relative path from a folder to a path; the path itself if it is on another drive."""
    try:
        return relpath(os.fspath(path), os.fspath(start))
    except ValueError:
        return os.fspath(path)


def _is_foreign(relative: str) -> bool:
    """True on Windows for a name with a separator of names, drives or streams."""
    return os.sep == "\\" and ("\\" in relative or ":" in relative)
