"""What the index has worked out so far, kept until one of its causes changes."""

from collections.abc import Hashable, Iterable
from typing import NamedTuple

from smart_context.vault.index.store import Entry, IndexStore
from smart_context.vault.markdown.links import Names, Resolution, keys_of
from smart_context.vault.markdown.notes import Link

_MANY_CHANGES = 500
_MAX_ENTRIES = 20_000
_MAX_MEASURES = 4


class Changes(NamedTuple):
    """What a look at the disk found, as sorted paths."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


class IndexCache:
    """Answers in memory. What one change makes wrong is found by its keys, in any vault.

    Attributes:
        entries: What the store knows of a file.
        links: Of each file, its links and what they lead to.
        targets: Of each file, the other files that it links to.
        backlinks: Of each file, the other files that link to it.
    """

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.links: dict[str, tuple[tuple[Link, Resolution], ...]] = {}
        self.targets: dict[str, tuple[str, ...]] = {}
        self.backlinks: dict[str, tuple[str, ...]] = {}
        self._sources: dict[str, tuple[str, ...]] = {}
        self._paths: list[str] | None = None
        self._names: Names | None = None
        self._lengths: dict[str, int] | None = None
        self._measures: dict[Hashable, dict[str, int]] = {}

    def clear(self) -> None:
        """Forget everything."""
        self._paths = self._names = self._lengths = None
        self._measures.clear()
        self.entries.clear()
        self.links.clear()
        self.targets.clear()
        self.backlinks.clear()
        self._sources.clear()

    def keep(self, entry: Entry) -> None:
        """Remember an entry; there is room for 20,000."""
        if len(self.entries) >= _MAX_ENTRIES:
            self.entries.clear()
        self.entries[entry.stamp[0]] = entry

    def paths(self, store: IndexStore) -> list[str]:
        """All paths, sorted; not to be changed."""
        if self._paths is None:
            self._paths = sorted(store.paths())
        return self._paths

    def names(self, store: IndexStore) -> Names:
        """All paths by name."""
        if self._names is None:
            self._names = Names(self.paths(store))
        return self._names

    def lengths(self, store: IndexStore) -> dict[str, int]:
        """Of each file that is known to be text, how many characters it has."""
        if self._lengths is None:
            self._lengths = dict(store.lengths())
        return self._lengths

    def measures(self, name: Hashable) -> dict[str, int]:
        """What was measured of outlines under a name, by path; the last four names are kept."""
        found = self._measures.pop(name, {})
        while len(self._measures) >= _MAX_MEASURES:
            self._measures.pop(next(iter(self._measures)))
        self._measures[name] = found
        return found

    def sources(self, store: IndexStore, path: str) -> set[str]:
        """The files with a link that may mean this one."""
        for key in (key for key in keys_of(path) if key not in self._sources):
            self._sources[key] = store.sources(key)
        return {source for key in keys_of(path) for source in self._sources[key]}

    def forget(self, store: IndexStore, changes: Changes, keys: Iterable[str]) -> None:
        """Forget what depends on what changed.

        Args:
            store: As it is now.
            changes: The files.
            keys: Of the links that they had and have.
        """
        if sum(map(len, changes)) > _MANY_CHANGES:
            self.clear()
            return
        self.backlinks.clear()
        for key in keys:
            self._sources.pop(key, None)
        for path in (*changes.added, *changes.changed, *changes.removed):
            self.entries.pop(path, None)
            self._forget_links(path)
            for measured in (self._lengths or {}, *self._measures.values()):
                measured.pop(path, None)
        for path in (*changes.added, *changes.removed):
            for source in self.sources(store, path):
                self._forget_links(source)
        self._rename(changes)

    def _forget_links(self, path: str) -> None:
        self.links.pop(path, None)
        self.targets.pop(path, None)

    def _rename(self, changes: Changes) -> None:
        if changes.added or changes.removed:
            self._paths = None
        if self._names is None:
            return
        for path in changes.added:
            self._names.add(path)
        for path in changes.removed:
            self._names.discard(path)
