"""Resolves links among the names of a vault, as Obsidian does; suggests similar names."""

import difflib
import posixpath
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple


class Resolution(NamedTuple):
    """The target of a link."""

    path: str | None  # the file; `None` when no file matches
    candidates: tuple[str, ...] = ()  # all matching files, best first, when the name is ambiguous


_NOWHERE = Resolution(None)


def fold(name: str) -> str:
    """A name in the form for comparisons, without case and the composition of accents."""
    return name.lower() if name.isascii() else unicodedata.normalize("NFC", name).lower()


def linkpath(target: str) -> str:
    """The part of a link's target that names a file, without `#heading` and `#^block`."""
    return target.partition("#")[0].strip()


def link_key(target: str) -> str:
    """The key shared by a link and the files that it may mean: the folded base name."""
    name = target.partition("#")[0] if "#" in target else target
    return fold(name.rpartition("/")[2].strip())


def keys_of(path: str) -> tuple[str, ...]:
    """The keys of all links that may mean this file: its name, and without `.md`."""
    name = fold(path.rpartition("/")[2])
    return (name, name.removesuffix(".md")) if name.endswith(".md") else (name,)


class NoteNames:
    """The paths of a vault by name. Adding or removing a path takes constant time."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths: dict[str, list[str]] = {}
        self._by_name: dict[str, list[str]] = {}
        self._nearest: dict[str, dict[str, tuple[str, ...]]] = {}
        for path in paths:
            self.add(path)

    def add(self, path: str) -> None:
        """Add a path."""
        folded = fold(path)
        self._paths.setdefault(folded, []).append(path)
        self._by_name.setdefault(folded.rpartition("/")[2], []).append(path)
        self._forget(path)

    def discard(self, path: str) -> None:
        """Remove a path."""
        folded = fold(path)
        for names, key in ((self._paths, folded), (self._by_name, folded.rpartition("/")[2])):
            if path in names.get(key, ()):
                names[key].remove(path)
        self._forget(path)

    def resolve(self, target: str, source: str) -> Resolution:
        """The file that a link in `source` leads to.

        Tries in order: the exact path, the path plus `.md`, the same from the source's folder, the
        shortest path with this ending (ties in lexical order). `./` and `../` start at the source's
        folder and `/` at the vault; those match exactly or not at all. `#heading` means the source.
        """
        wanted = linkpath(target)
        if not wanted:
            return Resolution(source)
        folder = posixpath.dirname(source)
        if wanted.startswith(("/", "./", "../")):
            path = posixpath.normpath(posixpath.join(folder, wanted)).lstrip("/")
            return _NOWHERE if path.split("/", 1)[0] == ".." else Resolution(self._exact(path))
        exact = self._exact(wanted) or (folder and self._exact(f"{folder}/{wanted}"))
        if exact:
            return Resolution(exact)
        candidates = self._candidates(fold(wanted)) or (None,)
        return Resolution(candidates[0], candidates if len(candidates) > 1 else ())

    def _exact(self, path: str) -> str | None:
        for variant in (path, f"{path}.md"):
            if found := self._paths.get(fold(variant)):
                return variant if variant in found else min(found)
        return None

    def _candidates(self, folded: str) -> tuple[str, ...]:
        nearest = self._nearest.setdefault(folded.rpartition("/")[2], {})
        if folded not in nearest:
            nearest[folded] = self._ending_with(folded) or self._ending_with(f"{folded}.md")
        return nearest[folded]

    def _ending_with(self, folded: str) -> tuple[str, ...]:
        named = self._by_name.get(folded.rpartition("/")[2], ())
        if "/" in folded:
            named = [path for path in named if fold(path).endswith(f"/{folded}")]
        return tuple(sorted(named, key=lambda path: (len(path), path)))

    def _forget(self, path: str) -> None:
        if self._nearest:
            for key in keys_of(path):
                self._nearest.pop(key, None)


MOST = 3


def similar_paths(wanted: str, paths: Iterable[str], most: int = MOST) -> list[str]:
    """The paths with the closest file names, ignoring case, folder and `.md`.

    Args:
        wanted: A path or a name, perhaps with `#heading`.
    """
    by_name: dict[str, str] = {}
    for path in paths:
        by_name.setdefault(_name(path), path)
    near = difflib.get_close_matches(_name(wanted.partition("#")[0]), by_name, most)
    return [by_name[name] for name in near]


def _name(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".md").casefold()
