"""The vault's files as a tree, listed by folder and searched by name. Pure."""

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from smart_context.base.values import JsonObject

NOT_TEXT = re.compile(
    r"\.(?:png|jpe?g|gif|webp|avif|bmp|ico|heic|tiff?|psd|pdf|mp[34]|m4a|wav|ogg|flac|mov|mkv|webm|avi"
    r"|zip|t?gz|bz2|xz|7z|rar|jar|exe|dll|so|dylib|bin|iso|dmg|woff2?|[to]tf|eot|sqlite3?|db|pyc"
    r"|docx?|xlsx?|pptx?|od[tsp]|epub|mobi)\Z",
    re.IGNORECASE,
)
"""Endings of files that are not text, so contexts can't take them."""

_ATTACHABLE = re.compile(r"\.(?:png|jpe?g|gif|webp|pdf|docx)\Z", re.IGNORECASE)
"""Endings of non-text files that can be attached to a message."""


_Rank = tuple[int, int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeRow:
    """A row of the tree."""

    path: str  # its name in contexts; ends in `/` for a folder
    name: str  # its last part, without `.md`
    # a folder, a note with an outline, or another text file
    kind: Literal["folder", "note", "file"]
    files: int = 0  # the number of files in a folder, at any depth

    def to_dict(self) -> JsonObject:
        """The row as clients get it."""
        row: JsonObject = {"path": self.path, "name": self.name, "kind": self.kind}
        return row | ({"files": self.files} if self.kind == "folder" else {})


@dataclass(slots=True)
class _TreeFolder:
    folders: set[str] = field(default_factory=set)
    files: list[str] = field(default_factory=list)


class NoteTree:
    """The text files of a vault.

    Args:
        paths: Relative to the vault; files that are not text are ignored.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        known = sorted(paths)
        self.paths = [path for path in known if not NOT_TEXT.search(path)]
        self._others = [path for path in known if _ATTACHABLE.search(path)]
        self._folders: dict[str, _TreeFolder] = {"": _TreeFolder()}
        self._sizes: Counter[str] = Counter()
        self._folded: list[tuple[str, str]] | None = None
        self._attachable: list[tuple[str, str]] | None = None
        for path in self.paths:
            self._add(path)

    def listing(self, folder: str, offset: int, limit: int) -> tuple[list[TreeRow], int]:
        """A page of a folder's rows, folders first, each kind by name; and their number.

        Args:
            folder: `""` or a path that ends in `/`.
        """
        found = self._folders.get(folder)
        if found is None:
            return [], 0
        folders = sorted(found.folders, key=_by_name)
        files = sorted(found.files, key=_by_name)
        rows = (*folders, *files)[offset : offset + limit]
        return [self._entry(path) for path in rows], len(folders) + len(files)

    def search(self, query: str, offset: int, limit: int) -> tuple[list[TreeRow], int]:
        """A page of the rows whose path contains all words of the query, and their number.

        Names that begin with the query come first, then names that contain all words.
        """
        return self._found(_ranked(_fold(query).split(), self._names()), offset, limit)

    def find_files(self, query: str, offset: int, limit: int) -> tuple[list[TreeRow], int]:
        """Like `search`, among files that can be attached to a message: no folders, but images."""
        if self._attachable is None:
            files = [pair for pair in self._names() if not pair[1].endswith("/")]
            self._attachable = [*files, *((_fold(path), path) for path in self._others)]
        return self._found(_ranked(_fold(query).split(), self._attachable), offset, limit)

    def holds(self, path: str) -> bool:
        """True if the vault has this file or folder."""
        place = bisect_left(self.paths, path)
        return path in self._folders or self.paths[place : place + 1] == [path]

    def _names(self) -> list[tuple[str, str]]:
        """Every folder and file: its folded name to search, and its path."""
        if self._folded is None:
            names = (*(folder for folder in self._folders if folder), *self.paths)
            self._folded = [(_fold(name), name) for name in names]
        return self._folded

    def _found(self, ranked: Iterable[_Rank], offset: int, limit: int) -> tuple[list[TreeRow], int]:
        best = sorted(ranked)
        return [self._entry(path) for _, _, path in best[offset : offset + limit]], len(best)

    def _add(self, path: str) -> None:
        folder, _, _ = path.rpartition("/")
        prefix = f"{folder}/" if folder else ""
        if prefix not in self._folders:
            self._add_folder(prefix)
        self._folders[prefix].files.append(path)
        while prefix:
            self._sizes[prefix] += 1
            prefix = _parent(prefix)

    def _add_folder(self, folder: str) -> None:
        child = ""
        while folder not in self._folders:
            self._folders[folder] = _TreeFolder({child} if child else set())
            child, folder = folder, _parent(folder)
        self._folders[folder].folders.add(child)

    def _entry(self, path: str) -> TreeRow:
        name = path.rstrip("/").rpartition("/")[2]
        if path.endswith("/"):
            return TreeRow(path=path, name=name, kind="folder", files=self._sizes[path])
        if path[-3:].lower() == ".md":
            return TreeRow(path=path, name=name[:-3], kind="note")
        return TreeRow(path=path, name=name, kind="file")


def _ranked(words: Sequence[str], names: Iterable[tuple[str, str]]) -> Iterator[_Rank]:
    if not words:
        return
    whole = " ".join(words)
    for folded, path in names:
        if all(word in folded for word in words):
            name = folded.rstrip("/").rpartition("/")[2]
            is_in_name = all(word in name for word in words)
            yield 0 if name.startswith(whole) else 1 if is_in_name else 2, len(folded), path


def _parent(folder: str) -> str:
    head = folder[:-1].rpartition("/")[0]
    return f"{head}/" if head else ""


def _fold(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def _by_name(path: str) -> tuple[str, str]:
    return _fold(path.rstrip("/").rpartition("/")[2]), path
