"""The vault's index: who links to whom, headings, blocks, tags and lengths, kept up to date.

Only what was read from files is stored, on disk; what a link means is worked out when asked, among
the names that are there at that moment. So a note that changed costs its own reading, in a vault
of any size, and a rename needs no repair.
"""

import os
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from smart_context.disk.places import place_below
from smart_context.vault.guarded.files import SIGNED, FileText, Unreadable, VaultFiles
from smart_context.vault.guarded.walk import (
    FileStamp,
    readable_files,
    rest_after,
)
from smart_context.vault.index.answers import Answers
from smart_context.vault.index.cache import Changes, IndexCache
from smart_context.vault.index.entries import entry_of
from smart_context.vault.index.intake import Intake, Progress, Taken
from smart_context.vault.index.place import IndexPlace
from smart_context.vault.index.store import Entry, IndexDamaged, IndexStore
from smart_context.vault.markdown.links import Resolution
from smart_context.vault.markdown.notes import Link, Outline

T = TypeVar("T")


class VaultIndex:
    """What links, sections and names a vault's files have. Safe to use from several threads.

    Nothing is read before the first question. Nothing raises for what is in the vault.

    Args:
        root: The vault.
        memory_dir: The folder for what may be written: the index is kept in it. `None`, or one
            that can't be written: the index is kept in memory.
        makes_folder: Whether that folder may be made. If not, the index is kept in memory until
            somebody else has made it.

    Attributes:
        is_watched: Somebody tells `update` of each change, so `catch_up` needs no look at the disk.
        without: What is no part of the vault: the memory folder, relative to it.
        revision: Another number after each change that was taken in.
    """

    def __init__(
        self, root: Path, memory_dir: Path | None = None, *, makes_folder: bool = True
    ) -> None:
        self.root = root
        self.is_watched = False
        self.revision = 0
        self.without = _below(root, memory_dir)
        self._files = VaultFiles(root)
        self._intake = Intake(root, self.without)
        self._lock = threading.RLock()
        memory = None if memory_dir is None else place_below(root, memory_dir)
        self._place = IndexPlace(memory, makes_folder=makes_folder)
        self._next_look = 0.0
        self._is_doubtful = False
        self._cache = IndexCache()
        self._answers = Answers(self._cache, self._outline)

    def close(self) -> None:
        """Close the index's file. Asking the index again opens it again."""
        with self._lock:
            self._place.close()
            self._next_look = 0.0
            self._cache.clear()

    def refresh(self, on_progress: Progress | None = None) -> Changes:
        """Look at all files; read those that changed since the last time, by whoever.

        Args:
            on_progress: Told how many of the new files were read, and how many there are.
        """
        return self._ask(lambda store: self._look(store, on_progress))

    def catch_up(self) -> None:
        """Refresh if it is due: always, unless that takes its time.

        Up to some 5,000 notes each change is seen at once. In a larger vault no more than a
        twentieth of the time is spent on looking, so changes are seen after a second at 10,000
        notes; at once when a note that is read has other links than before.
        """
        with self._lock:
            if not self._has_just_looked():
                self.refresh()

    def update(self, paths: Iterable[str]) -> Changes:
        """Take in files that somebody saw change; costs nothing for the others.

        Args:
            paths: Relative to the vault, of files or folders that are there or are gone.
        """
        wanted = sorted(set(paths))
        return self._ask(lambda store: self._update(store, wanted))

    def paths(self) -> list[str]:
        """All files of the vault that may be looked at, sorted."""
        return self._ask(lambda store: [*self._cache.paths(store)])

    def files_below(self, folder: str) -> list[str]:
        """The files of a folder that may be looked at, at any depth, sorted.

        Args:
            folder: Relative to the vault; `""` is the vault.
        """
        if not self.is_watched:
            return list(readable_files(self.root, below=folder, without=self.without))
        prefix = f"{folder.strip('/')}/" if folder.strip("/") else ""
        return self._ask(lambda store: _beginning_with(prefix, self._cache.paths(store)))

    def stamps(self) -> list[FileStamp]:
        """The stamps of all files as they were read, in no order.

        The time in it is 0 where the same stamp need not mean the same text.
        """
        return self._ask(lambda store: store.stamps())

    def outline(self, path: str) -> Outline | None:
        """What is known of a file; it is read when it changed since, or when nothing is known.

        `None` when it is not there or no text. The caller has confined the path.
        """
        return self._ask(lambda store: self._outline(store, path))

    def read(self, path: str) -> tuple[str, Outline] | None:
        """The text of a file as it is now, without a byte order mark, and its outline.

        `None` when it is not there or no text. The caller has confined the path.
        """
        found = self._files.read(path)
        return self._ask(lambda store: self._take_in_read(store, path, found))

    def resolve(self, target: str, source: str) -> Resolution:
        """What a link to `target` in the file `source` leads to."""
        return self._ask(lambda store: self._cache.names(store).resolve(target, source))

    def resolve_all(self, targets: Iterable[str], source: str) -> list[Resolution]:
        """What many links in the file `source` lead to, in their order."""

        def resolved(store: IndexStore) -> list[Resolution]:
            names = self._cache.names(store)
            return [names.resolve(target, source) for target in targets]

        return self._ask(resolved)

    def lengths(self, paths: Sequence[str]) -> list[int | None]:
        """The lengths of many files in characters; otherwise as `outline`."""
        return self._ask(
            lambda store: self._answers.lengths(store, paths, is_settled=self._has_just_looked())
        )

    def measured(
        self, paths: Sequence[str], name: Hashable, measure: Callable[[Outline], int]
    ) -> list[int | None]:
        """What a measure finds in the outlines of many files; remembered until a file changes.

        Args:
            paths: The files.
            name: Of the measure: the same name, the same measure.
            measure: Of an outline. What is no text is not measured and gives `None`.
        """

        def found(store: IndexStore) -> list[int | None]:
            settled = self._has_just_looked()
            return self._answers.measured(store, paths, (name, measure), is_settled=settled)

        return self._ask(found)

    def links(self, path: str) -> Sequence[tuple[Link, Resolution]]:
        """The links of a file, in the order of its text, and what they lead to."""
        return self._ask(lambda store: self._answers.links(self._beyond_doubt(store), path))

    def outlinks(self, path: str) -> tuple[str, ...]:
        """The other files that a file links to, each once, in the order of its text."""
        return self._ask(lambda store: self._answers.outlinks(store, path))

    def backlinks(self, path: str) -> tuple[str, ...]:
        """The other files that link to a file, sorted."""
        return self._ask(lambda store: self._answers.backlinks(self._beyond_doubt(store), path))

    def outlines(self) -> Iterator[tuple[str, Outline]]:
        """All outlines that are known, sorted by path: those of all notes."""
        return self._ask(lambda store: store.outlines())

    def _ask(self, question: Callable[[IndexStore], T]) -> T:
        """The store's answer; a store that is damaged or can't be written is exchanged first."""
        with self._lock:
            try:
                return question(self._place.store())
            except IndexDamaged as fault:
                self._next_look = 0.0
                self._cache.clear()
                self._place.mend(fault)
            store = self._place.store()
            self._look(store)
            return question(store)

    def _look(self, store: IndexStore, on_progress: Progress | None = None) -> Changes:
        began, began_work = time.monotonic(), time.thread_time()
        stamps = self._intake.stamps()
        rest = rest_after(time.monotonic() - began, time.thread_time() - began_work)
        self._is_doubtful = False
        if self._place.is_changed_elsewhere():
            self.revision += 1
            self._cache.clear()
        changes = self._forget(store, self._intake.all(store, stamps, on_progress))
        self._next_look = time.monotonic() + rest
        return changes

    def _update(self, store: IndexStore, paths: list[str]) -> Changes:
        taken = self._intake.some(store, paths)
        return self._look(store) if taken is None else self._forget(store, taken)

    def _forget(self, store: IndexStore, taken: Taken) -> Changes:
        if any(taken.changes):
            self._cache.forget(store, taken.changes, taken.keys)
            self.revision += 1
        return taken.changes

    def _beyond_doubt(self, store: IndexStore) -> IndexStore:
        """The store, after a look if a note has just been read that has other links than before."""
        if self._is_doubtful:
            self._look(store)
        return store

    def _take_in_read(
        self, store: IndexStore, path: str, found: FileText | Unreadable
    ) -> tuple[str, Outline] | None:
        """A file as it was just read; stored if it is in the index and changed."""
        entry = self._known(store, path)
        if isinstance(found, Unreadable):
            if entry is not None and not entry.is_known:
                self._cache.keep(Entry(entry.stamp))  # an image, say: it is not opened again
            return None
        text = found.text.removeprefix("\ufeff")
        stamp = (path, found.mtime_ns, found.size, found.inode)
        if entry is not None and entry.stamp == stamp and entry.outline is not None:
            return text, entry.outline
        fresh = entry_of(path, found)
        self._is_doubtful |= _links_of(entry) != _links_of(fresh)
        if entry is not None:
            keys = store.change([fresh])
            self._forget(store, Taken(Changes(changed=(path,)), frozenset(keys)))
        return text, fresh.outline or Outline(len(text))

    def _outline(self, store: IndexStore, path: str) -> Outline | None:
        entry = self._known(store, path)
        full_path = f"{self.root}{os.sep}{path}"
        if entry is not None and entry.is_known and self._is_unchanged(entry.stamp, full_path):
            return entry.outline
        read = self._take_in_read(store, path, self._files.read(path))
        return None if read is None else read[1]

    def _known(self, store: IndexStore, path: str) -> Entry | None:
        known = self._cache.entries.get(path)
        if known is None:
            known = store.entry(path)
            if known is not None:
                self._cache.keep(known)
        return known

    def _is_unchanged(self, stamp: FileStamp, full_path: str) -> bool:
        if self._has_just_looked():
            return True
        try:
            status = os.stat(full_path)  # noqa: PTH116 — asked for each of thousands of notes
        except (OSError, ValueError):
            return False
        return stamp[1:] == (status.st_mtime_ns, status.st_size, status.st_ino & SIGNED)

    def _has_just_looked(self) -> bool:
        return self.is_watched or time.monotonic() < self._next_look


def _below(root: Path, folder: Path | None) -> tuple[str, ...]:
    if folder is None or not folder.is_relative_to(root):
        return ()
    return (folder.relative_to(root).as_posix(),)


def _links_of(entry: Entry | None) -> list[str]:
    outline = entry and entry.outline
    return [link.target for link in outline.links] if outline else []


def _beginning_with(prefix: str, paths: list[str]) -> list[str]:
    start = bisect_left(paths, prefix)
    if not prefix:
        return [*paths]
    return paths[start : bisect_left(paths, prefix[:-1] + "0", start)]  # what follows "/"
