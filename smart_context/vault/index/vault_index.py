"""The vault's index: links, headings, blocks, tags and lengths of its files.

Only data that was read from files is stored on disk. The target of a link is computed when it is
asked for, from the current names. So a changed note costs one read in a vault of any size, and a
rename changes no entry.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from smart_context.base.caches import Caches
from smart_context.vault.guarded.files import INODE_BITS, FileText, Unreadable, VaultFiles
from smart_context.vault.guarded.scopes import IGNORE_FILES
from smart_context.vault.guarded.walk import (
    FileStamp,
    cut_words,
    file_stamps,
    readable_files,
    rest_after,
    stamp_of,
)
from smart_context.vault.index.cache import IndexCache, VaultChanges, VaultNames
from smart_context.vault.index.store import (
    IndexDamaged,
    IndexEntry,
    IndexStore,
    IndexUnwritable,
    digest_of,
    entry_of,
    is_note,
)
from smart_context.vault.markdown.links import Resolution
from smart_context.vault.markdown.notes import Link, Outline

_logger = logging.getLogger(__name__)

Progress = Callable[[int, int], None]
"""Called with the number of new files read so far, and their total."""


class IndexedChanges(NamedTuple):
    """The files that changed, and the keys of their old and new links."""

    changes: VaultChanges = VaultChanges()
    keys: frozenset[str] = frozenset()


class IndexReader:
    """Reads changed files into a store.

    Args:
        without: Folders to leave out, relative to the vault.
    """

    def __init__(self, root: Path, without: tuple[str, ...]) -> None:
        self._root = root
        self._without = without
        self._is_settled = True
        self._cut: set[str] = set()

    def stamps(self) -> list[FileStamp]:
        """The current stamps of all files."""
        return file_stamps(self._root, without=self._without, on_cut=self._log_cut)

    def _log_cut(self, folder: str, lines: int) -> None:
        """Log once for each folder, as the vault is checked often."""
        if folder not in self._cut:
            self._cut.add(folder)
            _logger.warning(cut_words(folder, lines))

    def all(
        self, store: IndexStore, stamps: list[FileStamp], on_progress: Progress | None = None
    ) -> IndexedChanges:
        """Store all changes."""
        digest = digest_of(stamps)
        if digest == store.digest():
            return IndexedChanges()
        self._is_settled = True
        taken = self._take_in(store, set(stamps), set(store.stamps()), on_progress)
        if self._is_settled:
            store.keep_digest(digest)
        return taken

    def some(self, store: IndexStore, paths: Iterable[str]) -> IndexedChanges | None:
        """Store the changes of these files; `None` if others may have changed, too."""
        found: set[FileStamp] = set()
        known: set[FileStamp] = set()
        for path in paths:
            entry = store.entry(path)
            if entry is not None:
                known.add(entry.stamp)
            if stamp := stamp_of(self._root, path, without=self._without):
                found.add(stamp)
            elif entry is None and self._may_affect_others(path):
                return None
        return self._take_in(store, found, known)

    def _may_affect_others(self, path: str) -> bool:
        """True for an ignore file, and for a folder that was added or removed."""
        name = path.rpartition("/")[2]
        full_path = self._root / path
        return name in IGNORE_FILES or full_path.is_dir() or not full_path.exists()

    def _take_in(
        self,
        store: IndexStore,
        found: set[FileStamp],
        known: set[FileStamp],
        on_progress: Progress | None = None,
    ) -> IndexedChanges:
        if found == known:
            return IndexedChanges()
        fresh = {stamp[0]: stamp for stamp in found - known}
        outdated = {stamp[0] for stamp in known - found}
        present = fresh.keys()
        changes = VaultChanges(
            tuple(sorted(present - outdated)),
            tuple(sorted(present & outdated)),
            tuple(sorted(outdated - present)),
        )
        keys = store.remove(changes.removed)
        with VaultFiles(self._root) as files:
            keys |= store.change(self._entry(fresh[path], files) for path in changes.changed)
            new: Iterable[IndexEntry] = (self._entry(fresh[path], files) for path in changes.added)
            if on_progress is not None:
                new = _counted(new, len(changes.added), on_progress)
            keys |= store.add(new)
        return IndexedChanges(changes, frozenset(keys))

    def _entry(self, stamp: FileStamp, files: VaultFiles) -> IndexEntry:
        path = stamp[0]
        if not is_note(path):
            return IndexEntry(stamp, is_known=False)
        found = files.read(path)
        entry = entry_of(path, found) if isinstance(found, FileText) else IndexEntry(stamp)
        if entry.stamp != stamp:  # it is changing now: read it again at the next look
            self._is_settled = False
        return entry


def _counted(
    entries: Iterable[IndexEntry], total: int, on_progress: Progress
) -> Iterator[IndexEntry]:
    for done, entry in enumerate(entries):
        on_progress(done, total)
        yield entry


INDEX_FILE = "vault.sqlite3"
"""The name of the index's database."""


class IndexPlace:
    """Opens the index's store when it is needed. Not thread-safe.

    Args:
        caches: Keeps the database. If it is `None` or can't be written to, the index stays in
            memory; if it has no place yet, the index moves there later.
    """

    def __init__(self, caches: Caches | None) -> None:
        self._caches = caches
        self._opened: IndexStore | None = None
        self._version = 0
        self._is_waiting = False

    def store(self) -> IndexStore:
        """The store; opened on the first call.

        Raises:
            IndexUnwritable: If the file can't be written; call `replace`.
        """
        opened = self._opened
        if opened is None:
            return self._take(self._open())
        caches = self._caches
        if self._is_waiting and caches is not None and caches.can_keep():
            self._move(opened, caches)
        return self._opened or opened

    def is_changed_elsewhere(self) -> bool:
        """True if another program changed the file since the last call."""
        before, self._version = self._version, self.store().version()
        return before != self._version

    def close(self) -> None:
        """Close the file."""
        if self._opened is not None:
            self._opened.close()
        self._opened = None

    def replace(self, fault: IndexDamaged) -> None:
        """Replace a store that failed: a damaged file by a new one, else by one in memory."""
        if not isinstance(fault, IndexUnwritable):
            if self._opened is not None:
                self._opened.discard()
            self.close()
            self._take(self._open())
            return
        self.close()
        self._is_waiting = False
        self._take(IndexStore.in_memory())

    def _open(self) -> IndexStore:
        self._is_waiting = False
        if self._caches is None:
            return IndexStore.in_memory()
        if self._caches.can_keep():
            return IndexStore.kept(self._caches, INDEX_FILE)
        self._is_waiting = True
        return IndexStore.in_memory()

    def _move(self, opened: IndexStore, caches: Caches) -> None:
        self._is_waiting = False
        try:
            moved = opened.copied_to(caches, INDEX_FILE)
        except IndexDamaged:
            return  # stays in memory
        self._take(moved)
        opened.close()

    def _take(self, store: IndexStore) -> IndexStore:
        self._opened = store
        self._version = store.version()
        return store


T = TypeVar("T")


class VaultIndex:
    """Outlines, links and lengths of a vault's files. Thread-safe.

    Reads nothing before the first question; nothing in a vault makes it raise.

    Args:
        memory_dir: The memory folder, which is not part of the notes.
        caches: Keeps the index. If it is `None` or can't be written to, the index stays in memory.

    Attributes:
        is_watched: True while each change is passed to `update`, so that `catch_up` need not look
            at the disk.
        without: The memory folder, relative to the vault: not part of the notes.
        revision: A number that grows with each change.
    """

    def __init__(
        self, root: Path, memory_dir: Path | None = None, *, caches: Caches | None = None
    ) -> None:
        self.root = root
        self.is_watched = False
        self.revision = 0
        self.without = _below(root, memory_dir)
        self._files = VaultFiles(root)
        self._intake = IndexReader(root, self.without)
        self._lock = threading.RLock()
        self.caches = caches
        self._place = IndexPlace(caches)
        self._next_look = 0.0
        self._is_doubtful = False
        self._cache = IndexCache(self._outline)
        self.names = VaultNames(self._ask, self._cache)

    def close(self) -> None:
        """Close the index's file. The next question opens it again."""
        with self._lock:
            self._place.close()
            self._next_look = 0.0
            self._cache.clear()

    def refresh(self, on_progress: Progress | None = None) -> VaultChanges:
        """Look at all files and read those that changed since the last look.

        Args:
            on_progress: Called with the number of new files read so far, and their total.
        """
        return self._ask(lambda store: self._look(store, on_progress))

    def catch_up(self) -> None:
        """Refresh unless the last look was so recent that another would cost too much.

        Up to about 5,000 notes each change is seen at once. In a larger vault at most a twentieth
        of the time goes into looking: with 10,000 notes, changes are seen after a second, or at
        once when a note that is read has new links.
        """
        with self._lock:
            if not self._has_just_looked():
                self.refresh()

    def update(self, paths: Iterable[str]) -> VaultChanges:
        """Store the changes of these files only.

        Args:
            paths: Files or folders, relative to the vault; also removed ones.
        """
        wanted = sorted(set(paths))
        return self._ask(lambda store: self._update(store, wanted))

    def files_below(self, folder: str) -> list[str]:
        """The files in a folder that may be read, at any depth, sorted.

        Args:
            folder: Relative to the vault; `""` is the vault.
        """
        if not self.is_watched:
            return list(readable_files(self.root, below=folder, without=self.without))
        return self._ask(lambda store: self._cache.paths_below(store, folder))

    def outline(self, path: str) -> Outline | None:
        """The outline of a file; the file is read if it is new or changed.

        `None` when it is missing or not text. The caller has checked that the path is in the vault.
        """
        return self._ask(lambda store: self._outline(store, path))

    def read(self, path: str) -> tuple[str, Outline] | None:
        """The current text of a file, without a byte order mark, and its outline.

        `None` when it is missing or not text. The caller has checked that the path is in the vault.
        """
        found = self._files.read(path)
        return self._ask(lambda store: self._take_in_read(store, path, found))

    def lengths(self, paths: Sequence[str]) -> list[int | None]:
        """The lengths of files in characters; `None` for a file that is missing or not text."""
        return self._ask(
            lambda store: self._cache.lengths(store, paths, is_settled=self._has_just_looked())
        )

    def measured(
        self, paths: Sequence[str], name: Hashable, measure: Callable[[Outline], int]
    ) -> list[int | None]:
        """The results of a measure of outlines; each is kept until its file changes.

        Args:
            paths: The files. One that is missing or not text gives `None`.
            name: Identifies the measure; one name always means the same measure.
            measure: Computes the result from an outline.
        """

        def found(store: IndexStore) -> list[int | None]:
            settled = self._has_just_looked()
            return self._cache.measured(store, paths, (name, measure), is_settled=settled)

        return self._ask(found)

    def links(self, path: str) -> Sequence[tuple[Link, Resolution]]:
        """The links of a file in the order of its text, with the files they lead to."""
        return self._ask(lambda store: self._cache.links(self._looked_if_in_doubt(store), path))

    def backlinks(self, path: str) -> tuple[str, ...]:
        """The other files that link to a file, sorted."""
        return self._ask(lambda store: self._cache.backlinks(self._looked_if_in_doubt(store), path))

    def outlines(self) -> Iterator[tuple[str, Outline]]:
        """The outlines of all notes, and of other text that was read, sorted by path."""
        last = ""
        try:
            for last, outline in self._ask(IndexStore.outlines):
                yield last, outline
        except IndexDamaged as fault:  # one can't be read
            with self._lock:
                self._replace(fault)
            rest = self._ask(IndexStore.outlines)
            yield from ((path, outline) for path, outline in rest if path > last)

    def _ask(self, question: Callable[[IndexStore], T]) -> T:
        """The store's answer; a damaged or unwritable store is replaced first."""
        with self._lock:
            try:
                return question(self._place.store())
            except IndexDamaged as fault:
                return question(self._replace(fault))

    def _replace(self, fault: IndexDamaged) -> IndexStore:
        self._next_look = 0.0
        self._cache.clear()
        self._place.replace(fault)
        store = self._place.store()
        self._look(store)
        return store

    def _look(self, store: IndexStore, on_progress: Progress | None = None) -> VaultChanges:
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

    def _update(self, store: IndexStore, paths: list[str]) -> VaultChanges:
        taken = self._intake.some(store, paths)
        return self._look(store) if taken is None else self._forget(store, taken)

    def _forget(self, store: IndexStore, taken: IndexedChanges) -> VaultChanges:
        if any(taken.changes):
            self._cache.forget(store, taken.changes, taken.keys)
            self.revision += 1
        return taken.changes

    def _looked_if_in_doubt(self, store: IndexStore) -> IndexStore:
        """The store, after a look at the disk if a note that was just read has new links."""
        if self._is_doubtful:
            self._look(store)
        return store

    def _take_in_read(
        self, store: IndexStore, path: str, found: FileText | Unreadable
    ) -> tuple[str, Outline] | None:
        """The text and outline just read; stored if the file is in the index and changed."""
        entry = self._cache.entry(store, path)
        if isinstance(found, Unreadable):
            if entry is not None and not entry.is_known:
                self._cache.keep(IndexEntry(entry.stamp))  # an image, say: don't open it again
            return None
        text = found.text.removeprefix("\ufeff")
        stamp = (path, found.mtime_ns, found.size, found.inode)
        if entry is not None and entry.stamp == stamp and entry.outline is not None:
            return text, entry.outline
        fresh = entry_of(path, found)
        self._is_doubtful |= _links_of(entry) != _links_of(fresh)
        if entry is not None:
            keys = store.change([fresh])
            self._forget(store, IndexedChanges(VaultChanges(changed=(path,)), frozenset(keys)))
        return text, fresh.outline or Outline(len(text))

    def _outline(self, store: IndexStore, path: str) -> Outline | None:
        entry = self._cache.entry(store, path)
        full_path = f"{self.root}{os.sep}{path}"
        if entry is not None and entry.is_known and self._is_unchanged(entry.stamp, full_path):
            return entry.outline
        read = self._take_in_read(store, path, self._files.read(path))
        return None if read is None else read[1]

    def _is_unchanged(self, stamp: FileStamp, full_path: str) -> bool:
        if self._has_just_looked():
            return True
        try:
            status = os.stat(full_path)  # noqa: PTH116 — called for each of thousands of notes
        except (OSError, ValueError):
            return False
        return stamp[1:] == (status.st_mtime_ns, status.st_size, status.st_ino & INODE_BITS)

    def _has_just_looked(self) -> bool:
        return self.is_watched or time.monotonic() < self._next_look


def _below(root: Path, folder: Path | None) -> tuple[str, ...]:
    if folder is None or not folder.is_relative_to(root):
        return ()
    return (folder.relative_to(root).as_posix(),)


def _links_of(entry: IndexEntry | None) -> list[str]:
    outline = entry and entry.outline
    return [link.target for link in outline.links] if outline else []
