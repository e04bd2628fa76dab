"""Caches the index's answers until a change makes them wrong; finds files by name."""

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from cachetools import LRUCache

from smart_context.vault.guarded.walk import FileStamp
from smart_context.vault.index.store import IndexEntry, IndexStore
from smart_context.vault.markdown.links import NoteNames, Resolution, keys_of
from smart_context.vault.markdown.notes import Link, Outline

_MANY_CHANGES = 500
_MANY_OUTLINES = 1_000
_MAX_ENTRIES = 20_000
_MAX_MEASURES = 4


class VaultChanges(NamedTuple):
    """The added, changed and removed files, as sorted paths."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


class IndexCache:
    """Caches answers of the store; the keys of links show which answers a change affects.

    Args:
        outline_of: The current outline of a file; `None` when it is not text.
    """

    def __init__(self, outline_of: Callable[[IndexStore, str], Outline | None]) -> None:
        self._outline_of = outline_of
        self._entries: dict[str, IndexEntry] = {}
        self._links: dict[str, tuple[tuple[Link, Resolution], ...]] = {}
        self._targets: dict[str, frozenset[str]] = {}
        self._backlinks: dict[str, tuple[str, ...]] = {}
        self._sources: dict[str, tuple[str, ...]] = {}
        self._paths: list[str] | None = None
        self._names: NoteNames | None = None
        self._lengths: dict[str, int] | None = None
        self._measures: LRUCache[Hashable, dict[str, int]] = LRUCache(_MAX_MEASURES)

    def clear(self) -> None:
        """Forget everything."""
        self._paths = self._names = self._lengths = None
        for answers in (self._entries, self._links, self._targets, self._backlinks):
            answers.clear()
        self._sources.clear()
        self._measures.clear()

    def entry(self, store: IndexStore, path: str) -> IndexEntry | None:
        """The store's entry of a file; `None` when the file is not in the vault."""
        known = self._entries.get(path)
        if known is None and (known := store.entry(path)) is not None:
            self.keep(known)
        return known

    def keep(self, entry: IndexEntry) -> None:
        """Remember an entry; up to 20,000 are kept."""
        if len(self._entries) >= _MAX_ENTRIES:
            self._entries.clear()
        self._entries[entry.stamp[0]] = entry

    def paths(self, store: IndexStore) -> list[str]:
        """All paths, sorted. Shared: the caller must not change the list."""
        if self._paths is None:
            self._paths = sorted(store.paths())
        return self._paths

    def paths_below(self, store: IndexStore, folder: str) -> list[str]:
        """The paths in a folder, at any depth, sorted; `""` is the vault."""
        paths, prefix = self.paths(store), folder.strip("/")
        if not prefix:
            return [*paths]
        start = bisect_left(paths, f"{prefix}/")
        return paths[start : bisect_left(paths, f"{prefix}0", start)]  # "0" comes after "/"

    def names(self, store: IndexStore) -> NoteNames:
        """All paths by name."""
        if self._names is None:
            self._names = NoteNames(self.paths(store))
        return self._names

    def lengths(
        self, store: IndexStore, paths: Sequence[str], *, is_settled: bool
    ) -> list[int | None]:
        """The lengths of files in characters; `None` for one that is not text.

        Args:
            paths: The files, perhaps thousands.
            is_settled: All files were just checked, so the store is up to date.
        """
        known: dict[str, int] = {}
        if is_settled:
            if self._lengths is None:
                self._lengths = dict(store.lengths())
            known = self._lengths
        return self._measured_now(store, paths, known, _length)

    def measured(
        self,
        store: IndexStore,
        paths: Sequence[str],
        measure: tuple[Hashable, Callable[[Outline], int]],
        *,
        is_settled: bool,
    ) -> list[int | None]:
        """The result of a named measure for each file's outline; otherwise as `lengths`."""
        name, of = measure
        known: dict[str, int] = {}
        if is_settled:
            known = self._measures.setdefault(name, {})
            missing = {path for path in paths if path not in known}
            if len(missing) > _MANY_OUTLINES:
                outlines = store.outlines()
                known.update((path, of(o)) for path, o in outlines if path in missing)
        return self._measured_now(store, paths, known, of)

    def links(self, store: IndexStore, path: str) -> tuple[tuple[Link, Resolution], ...]:
        """The links of a file, with the files they lead to."""
        known = self._links.get(path)
        if known is None:
            outline, names = self._outline_of(store, path), self.names(store)
            links = outline.links if outline is not None else ()
            known = tuple((link, names.resolve(link.target, path)) for link in links)
            self._links[path] = known
        return known

    def backlinks(self, store: IndexStore, path: str) -> tuple[str, ...]:
        """The other files that link to a file, sorted."""
        known = self._backlinks.get(path)
        if known is None:
            linking = (s for s in self._sources_of(store, path) if path in self._outlinks(store, s))
            known = self._backlinks[path] = tuple(sorted(linking))
        return known

    def forget(self, store: IndexStore, changes: VaultChanges, keys: Iterable[str]) -> None:
        """Forget the answers that a change makes wrong."""
        if sum(map(len, changes)) > _MANY_CHANGES:
            self.clear()
            return
        self._backlinks.clear()
        for key in keys:
            self._sources.pop(key, None)
        for path in (*changes.added, *changes.changed, *changes.removed):
            self._entries.pop(path, None)
            self._forget_links(path)
            for measured in (self._lengths or {}, *self._measures.values()):
                measured.pop(path, None)
        for path in (*changes.added, *changes.removed):
            for source in self._sources_of(store, path):
                self._forget_links(source)
        self._rename(changes)

    def _measured_now(
        self,
        store: IndexStore,
        paths: Sequence[str],
        known: dict[str, int],
        measure: Callable[[Outline], int],
    ) -> list[int | None]:
        """The known values; those that are missing are measured and added to `known`."""
        found: list[int | None] = list(map(known.get, paths))
        if None in found:
            for position, path in enumerate(paths):
                if found[position] is None and (outline := self._outline_of(store, path)):
                    found[position] = known[path] = measure(outline)
        return found

    def _outlinks(self, store: IndexStore, path: str) -> frozenset[str]:
        known = self._targets.get(path)
        if known is None:
            targets = (resolved.path for _, resolved in self.links(store, path))
            known = frozenset(target for target in targets if target not in (None, path))
            self._targets[path] = known
        return known

    def _sources_of(self, store: IndexStore, path: str) -> set[str]:
        """The files with a link that may mean this one."""
        for key in (key for key in keys_of(path) if key not in self._sources):
            self._sources[key] = store.sources(key)
        return {source for key in keys_of(path) for source in self._sources[key]}

    def _forget_links(self, path: str) -> None:
        self._links.pop(path, None)
        self._targets.pop(path, None)

    def _rename(self, changes: VaultChanges) -> None:
        if changes.added or changes.removed:
            self._paths = None
        if self._names is None:
            return
        for path in changes.added:
            self._names.add(path)
        for path in changes.removed:
            self._names.discard(path)


def _length(outline: Outline) -> int:
    return outline.length


T = TypeVar("T")


class Ask(Protocol):
    """Asks the current store, and replaces it first if it is damaged."""

    def __call__(self, question: Callable[[IndexStore], T]) -> T:
        """The store's answer."""


class VaultNames:
    """The files of a vault by name, as of the last look at the disk."""

    def __init__(self, ask: Ask, cache: IndexCache) -> None:
        self._ask = ask
        self._cache = cache

    def all(self) -> list[str]:
        """The paths of all files that may be read, sorted."""
        return self._ask(lambda store: [*self._cache.paths(store)])

    def stamps(self) -> list[FileStamp]:
        """The stamps of all files when they were read, in no order.

        The time in a stamp is 0 if the file may have changed again without a new stamp.
        """
        return self._ask(lambda store: store.stamps())

    def resolve(self, target: str, source: str) -> Resolution:
        """The file that a link to `target` in the file `source` leads to."""
        return self.resolve_all([target], source)[0]

    def resolve_all(self, targets: Iterable[str], source: str) -> list[Resolution]:
        """The files that the links in the file `source` lead to, in the same order."""

        def resolved(store: IndexStore) -> list[Resolution]:
            names = self._cache.names(store)
            return [names.resolve(target, source) for target in targets]

        return self._ask(resolved)
