"""Resolves listed names to items: notes, sections, blocks and the files of folders."""

import posixpath
import stat
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from smart_context.base.errors import PathRefused
from smart_context.vault.guarded.paths import status_of

FilesBelow = Callable[[str], Iterable[str]]
"""Gives the readable files of a folder, at any depth, sorted; `""` is the vault."""


class Item(NamedTuple):
    """A note or a part of one."""

    key: str  # its path, with `#Heading` or `#^block` if it is a part of a note
    path: str  # the file, relative to the vault
    fragment: str = ""  # `Heading` or `^block`; empty for the whole file
    asked: str = ""  # the name in the list; empty if it came with a folder or a link


_FOLDER, _FILE = stat.S_IFDIR, stat.S_IFREG


@dataclass(frozen=True, slots=True)
class Selected:
    """The items, each once and in the order of the list, and the names that lead to nothing."""

    items: tuple[Item, ...]
    missing: tuple[str, ...]


def select_items(
    root: Path, context_items: Mapping[str, object], files_below: FilesBelow
) -> Selected:
    """Resolve listed names.

    Args:
        context_items: Names of notes, folders, `note#Heading` and `note#^block`, relative to the
            vault; one with a falsy flag is ignored. A note's `.md` may be left out.
        files_below: Lists the files of a folder.

    Returns:
        Folders as their files. A part of a note is left out if the whole note is listed too.
    """
    items: dict[str, Item] = {}
    missing: list[str] = []
    for name in (name for name, flag in context_items.items() if flag):
        found = _find(root, name, files_below)
        if found is None:
            missing.append(name)
        for item in found or ():
            if item.key not in items or (item.asked and not items[item.key].asked):
                items[item.key] = item
    whole = {item.path for item in items.values() if not item.fragment}
    kept = (item for item in items.values() if not item.fragment or item.path not in whole)
    return Selected(tuple(kept), tuple(missing))


def _find(root: Path, name: str, files_below: FilesBelow) -> list[Item] | None:
    for spelling in _spellings(name):
        kind, path = _kind_of(root, spelling)
        if kind == _FOLDER:
            below = "" if path == "." else path
            return [Item(file, file) for file in files_below(below)]
        if kind != _FILE:
            kind, path = _kind_of(root, f"{spelling}.md")
        if kind == _FILE:
            return [Item(path, path, asked=name)]
        if "#" in spelling and (part := _find_part(root, spelling)):
            return [part._replace(asked=name)]
    return None


def _find_part(root: Path, name: str) -> Item | None:
    for position in (place for place, character in enumerate(name) if character == "#"):
        for file in (name[:position], f"{name[:position]}.md"):
            kind, path = _kind_of(root, file)
            if kind == _FILE:
                fragment = name[position + 1 :]
                return Item(f"{path}#{fragment}", path, fragment)
    return None


def _kind_of(root: Path, name: str) -> tuple[int, str]:
    """The file type of a name, 0 if there is none, and its normalised path."""
    request = name.rstrip("/") or "."
    try:
        mode = status_of(root, request).st_mode
    except (PathRefused, OSError, ValueError):
        return 0, request
    kind = stat.S_IFMT(mode)
    return (0 if kind == _FILE and name.endswith("/") else kind), posixpath.normpath(request)


def _spellings(name: str) -> Iterable[str]:
    """The name as given, composed and decomposed, each once."""
    if name.isascii():
        return (name,)
    return dict.fromkeys(
        (name, unicodedata.normalize("NFC", name), unicodedata.normalize("NFD", name))
    )
