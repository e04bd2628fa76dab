"""From what a user listed to what there is: notes, sections, blocks and the files of folders."""

import posixpath
import stat
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from smart_context.errors import PathRefused
from smart_context.vault.guarded.paths import status_of

FilesBelow = Callable[[str], Iterable[str]]
"""Gives the files of a folder that may be looked at, at any depth, sorted; `""` is the vault."""


class Item(NamedTuple):
    """One piece of the vault.

    Attributes:
        key: Its path, with `#Heading` or `#^block` if it is a part of a note.
        path: The file, relative to the vault.
        fragment: `Heading` or `^block`; empty for the whole file.
        asked: How the user named it; empty for what came with a folder or a link.
    """

    key: str
    path: str
    fragment: str = ""
    asked: str = ""


_FOLDER, _FILE = stat.S_IFDIR, stat.S_IFREG


@dataclass(frozen=True, slots=True)
class Selected:
    """What was selected, each once, as listed, and the names under which there is nothing."""

    items: tuple[Item, ...]
    missing: tuple[str, ...]


def select_items(
    root: Path, context_items: Mapping[str, object], files_below: FilesBelow
) -> Selected:
    """What the listed names stand for (contract B).

    Args:
        root: The vault.
        context_items: Names of notes, folders, `note#Heading` and `note#^block`, relative to the
            vault; one with a falsy flag does not count. A note's `.md` may be left out.
        files_below: Knows what is in a folder.

    Returns:
        Folders as their files. A part of a note is left out when the whole note is there too.
    """
    items: dict[str, Item] = {}
    missing: list[str] = []
    for name in (name for name, flag in context_items.items() if flag):
        found = _find(root, name, files_below)
        if found is None:
            missing.append(name)
        for item in found or ():
            if item.asked or item.key not in items:
                items.setdefault(item.key, item)
    whole = {item.path for item in items.values() if not item.fragment}
    kept = (item for item in items.values() if not item.fragment or item.path not in whole)
    return Selected(tuple(kept), tuple(missing))


def _find(root: Path, name: str, files_below: FilesBelow) -> list[Item] | None:
    for spelling in dict.fromkeys((name, _composed(name, "NFC"), _composed(name, "NFD"))):
        kind, path = _look(root, spelling)
        if kind == _FOLDER:
            below = "" if path == "." else path
            return [Item(file, file) for file in files_below(below)]
        if kind != _FILE:
            kind, path = _look(root, f"{spelling}.md")
        if kind == _FILE:
            return [Item(path, path, asked=name)]
        if "#" in spelling and (part := _find_part(root, spelling)):
            return [part._replace(asked=name)]
    return None


def _find_part(root: Path, name: str) -> Item | None:
    for position in (at for at, character in enumerate(name) if character == "#"):
        for file in (name[:position], f"{name[:position]}.md"):
            kind, path = _look(root, file)
            if kind == _FILE:
                fragment = name[position + 1 :]
                return Item(f"{path}#{fragment}", path, fragment)
    return None


def _look(root: Path, name: str) -> tuple[int, str]:
    """What there is under a name, and its plain path in the vault."""
    request = name.rstrip("/") or "."
    try:
        mode = status_of(root, request).st_mode
    except (PathRefused, OSError, ValueError):
        return 0, request
    kind = stat.S_IFMT(mode)
    return (0 if kind == _FILE and name.endswith("/") else kind), posixpath.normpath(request)


def _composed(name: str, form: str) -> str:
    if name.isascii():
        return name
    return unicodedata.normalize("NFC" if form == "NFC" else "NFD", name)
