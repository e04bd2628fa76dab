"""What a link's words mean among the names of a vault, as Obsidian resolves them (contract B)."""

import posixpath
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple


class Resolution(NamedTuple):
    """What a link leads to.

    Attributes:
        path: The file; `None` when there is none.
        candidates: All files that the name could mean, best first, when it is ambiguous.
    """

    path: str | None
    candidates: tuple[str, ...] = ()


_NOWHERE = Resolution(None)


def fold(name: str) -> str:
    """A name as names are compared: without regard to case and to how accents are composed."""
    return name.lower() if name.isascii() else unicodedata.normalize("NFC", name).lower()


def linkpath(target: str) -> str:
    """The part of a link's target that names a file, without `#heading` and `#^block`."""
    return target.partition("#")[0].strip()


def link_key(target: str) -> str:
    """What a link and the files that it may mean have in common: the folded last part."""
    name = target.partition("#")[0] if "#" in target else target
    return fold(name.rpartition("/")[2].strip())


def keys_of(path: str) -> tuple[str, ...]:
    """The keys of all links that may mean this file: its name, and without `.md`."""
    name = fold(path.rpartition("/")[2])
    return (name, name.removesuffix(".md")) if name.endswith(".md") else (name,)


class Names:
    """The paths of a vault, by name. Adding and removing one costs the same in any vault."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths: dict[str, list[str]] = {}
        self._by_name: dict[str, list[str]] = {}
        self._nearest: dict[str, dict[str, tuple[str, ...]]] = {}
        for path in paths:
            self.add(path)

    def add(self, path: str) -> None:
        """A file appeared."""
        folded = fold(path)
        self._paths.setdefault(folded, []).append(path)
        self._by_name.setdefault(folded.rpartition("/")[2], []).append(path)
        self._forget(path)

    def discard(self, path: str) -> None:
        """A file is gone."""
        folded = fold(path)
        for names, key in ((self._paths, folded), (self._by_name, folded.rpartition("/")[2])):
            if path in names.get(key, ()):
                names[key].remove(path)
        self._forget(path)

    def resolve(self, target: str, source: str) -> Resolution:
        """What a link in `source` leads to.

        In this order: the exact path, the path plus `.md`, the same from the source's folder, the
        shortest path that ends so (ties in lexical order). `./` and `../` start at the source's
        folder and `/` at the vault; they are taken by the letter. `#heading` alone is the source.
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
