"""What the index has worked out so far, kept until one of its causes changes."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from smart_context.vault.index_store import Entry
from smart_context.vault.links import Names, Resolution, keys_of
from smart_context.vault.notes import Link

_MANY_CHANGES = 500
_MAX_ENTRIES = 20_000


class Changes(NamedTuple):
    """What a look at the disk found, as sorted paths."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


class IndexCache:
    """Answers in memory. What one change makes wrong is found by its keys, in any vault.

    Attributes:
        names: All paths by name; `None` until somebody asks what a link means.
        entries: What the store knows of a file.
        links: Of each file, its links and what they lead to.
        targets: Of each file, the other files that it links to.
        backlinks: Of each file, the other files that link to it.
        sources: Of each link key, the files with such a link.
    """

    def __init__(self) -> None:
        self.names: Names | None = None
        self.entries: dict[str, Entry] = {}
        self.links: dict[str, tuple[tuple[Link, Resolution], ...]] = {}
        self.targets: dict[str, tuple[str, ...]] = {}
        self.backlinks: dict[str, tuple[str, ...]] = {}
        self.sources: dict[str, tuple[str, ...]] = {}

    def clear(self) -> None:
        """Forget everything."""
        self.names = None
        self.entries.clear()
        self.links.clear()
        self.targets.clear()
        self.backlinks.clear()
        self.sources.clear()

    def keep(self, entry: Entry) -> None:
        """Remember an entry; there is room for 20,000."""
        if len(self.entries) >= _MAX_ENTRIES:
            self.entries.clear()
        self.entries[entry.stamp[0]] = entry

    def forget(
        self,
        changes: Changes,
        keys: Iterable[str],
        sources_of: Callable[[str], Iterable[str]],
    ) -> None:
        """Forget what depends on what changed.

        Args:
            changes: The files.
            keys: Of the links that they had and have.
            sources_of: The files with a link of a key, as it is stored now.
        """
        if sum(map(len, changes)) > _MANY_CHANGES:
            self.clear()
            return
        self.backlinks.clear()
        for key in keys:
            self.sources.pop(key, None)
        for path in (*changes.added, *changes.changed, *changes.removed):
            self.entries.pop(path, None)
            self._forget_links(path)
        for path in (*changes.added, *changes.removed):
            for source in (source for key in keys_of(path) for source in sources_of(key)):
                self._forget_links(source)
        self._rename(changes)

    def _forget_links(self, path: str) -> None:
        self.links.pop(path, None)
        self.targets.pop(path, None)

    def _rename(self, changes: Changes) -> None:
        if self.names is None:
            return
        for path in changes.added:
            self.names.add(path)
        for path in changes.removed:
            self.names.discard(path)
