"""From what a user listed to what there is: notes, sections, blocks and the files of folders."""

import posixpath
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from smart_context.errors import PathRefused
from smart_context.vault.paths import confine
from smart_context.vault.walk import readable_files


@dataclass(frozen=True, slots=True)
class Item:
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


@dataclass(frozen=True, slots=True)
class Selected:
    """What was selected, each once, as listed, and the names under which there is nothing."""

    items: tuple[Item, ...]
    missing: tuple[str, ...]


def select_items(
    root: Path, context_items: Mapping[str, object], without: Collection[str] = ()
) -> Selected:
    """What the listed names stand for (contract B).

    Args:
        root: The vault.
        context_items: Names of notes, folders, `note#Heading` and `note#^block`, relative to the
            vault; one with a falsy flag does not count. A note's `.md` may be left out.
        without: Folders that are no part of the vault.

    Returns:
        Folders as their files. A part of a note is left out when the whole note is there too.
    """
    items: dict[str, Item] = {}
    missing: list[str] = []
    for name in (name for name, flag in context_items.items() if flag):
        found = _find(root, name, without)
        if found is None:
            missing.append(name)
        for item in found or ():
            if item.asked or item.key not in items:
                items.setdefault(item.key, item)
    whole = {item.path for item in items.values() if not item.fragment}
    kept = (item for item in items.values() if not item.fragment or item.path not in whole)
    return Selected(tuple(kept), tuple(missing))


def _find(root: Path, name: str, without: Collection[str]) -> list[Item] | None:
    for spelling in dict.fromkeys((name, _composed(name, "NFC"), _composed(name, "NFD"))):
        path = _confined(root, spelling)
        if path is not None and (root / path).is_dir():
            below = "" if path == "." else path
            return [Item(file, file) for file in readable_files(root, below=below, without=without)]
        if path := _file(root, spelling):
            return [Item(path, path, asked=name)]
        for position in (at for at, character in enumerate(spelling) if character == "#"):
            fragment = spelling[position + 1 :]
            if path := _file(root, spelling[:position]):
                return [Item(f"{path}#{fragment}", path, fragment, name)]
    return None


def _file(root: Path, name: str) -> str | None:
    for spelling in (name, f"{name}.md"):
        path = _confined(root, spelling)
        if path is not None and not spelling.endswith("/") and (root / path).is_file():
            return path
    return None


def _confined(root: Path, name: str) -> str | None:
    request = name.rstrip("/") or "."
    try:
        confine(root, request)
    except PathRefused:
        return None
    return posixpath.normpath(request)


def _composed(name: str, form: str) -> str:
    return unicodedata.normalize("NFC" if form == "NFC" else "NFD", name)
