"""The vault's index: who links to whom, headings, blocks, tags and lengths, kept up to date.

Only what was read from files is stored, on disk; what a link means is worked out when asked, among
the names that are there at that moment. So a note that changed costs its own reading, in a vault
of any size, and a rename needs no repair.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from smart_context.vault.entries import digest_of, entry_of, is_note
from smart_context.vault.files import SIGNED, FileText, Unreadable, read_text
from smart_context.vault.index_cache import Changes, IndexCache
from smart_context.vault.index_store import Entry, IndexDamaged, IndexStore, IndexUnwritable
from smart_context.vault.links import Names, Resolution, keys_of
from smart_context.vault.notes import Link, Outline
from smart_context.vault.walk import (
    IGNORE_FILES,
    FileStamp,
    file_stamps,
    rest_after,
    stamp_of,
)

INDEX_FILE = "index/vault.sqlite3"
"""Where the index is kept, in the memory folder."""

T = TypeVar("T")

Progress = Callable[[int, int], None]


class VaultIndex:
    """What links, sections and names a vault's files have. Safe to use from several threads.

    Nothing is read before the first question. Nothing raises for what is in the vault.

    Args:
        root: The vault.
        memory_dir: The folder for what may be written: the index is kept in it. `None`, or one
            that can't be written: the index is kept in memory.

    Attributes:
        is_watched: Somebody tells `update` of each change, so `catch_up` needs no look at the disk.
    """

    def __init__(self, root: Path, memory_dir: Path | None = None) -> None:
        self.root = root
        self.is_watched = False
        self._memory_dir = memory_dir
        self._lock = threading.RLock()
        self._opened: IndexStore | None = None
        self._seen_version = 0
        self._next_look = 0.0
        self._is_settled = True
        self._is_doubtful = False
        self._cache = IndexCache()

    def close(self) -> None:
        """Close the index's file. Asking the index again opens it again."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
            self._opened = None
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
        return self._ask(lambda store: sorted(store.paths()))

    def outline(self, path: str) -> Outline | None:
        """What is known of a file; it is read when it changed since, or when nothing is known.

        `None` when it is not there or no text. The caller has confined the path.
        """
        return self._ask(lambda store: self._outline(store, path))

    def read(self, path: str) -> tuple[str, Outline] | None:
        """The text of a file as it is now, without a byte order mark, and its outline.

        `None` when it is not there or no text. The caller has confined the path.
        """
        found = read_text(f"{self.root}{os.sep}{path}", is_plain=True)
        return self._ask(lambda store: self._take_in_read(store, path, found))

    def resolve(self, target: str, source: str) -> Resolution:
        """What a link to `target` in the file `source` leads to."""
        return self._ask(lambda store: self._names_now(store).resolve(target, source))

    def resolve_all(self, targets: Iterable[str], source: str) -> list[Resolution]:
        """What many links in the file `source` lead to, in their order."""

        def resolved(store: IndexStore) -> list[Resolution]:
            names = self._names_now(store)
            return [names.resolve(target, source) for target in targets]

        return self._ask(resolved)

    def lengths(self, paths: Sequence[str]) -> list[int | None]:
        """The lengths of many files in characters; otherwise as `outline`."""
        return self._ask(lambda store: self._lengths(store, paths))

    def links(self, path: str) -> Sequence[tuple[Link, Resolution]]:
        """The links of a file, in the order of its text, and what they lead to."""
        return self._ask(lambda store: self._links(self._beyond_doubt(store), path))

    def outlinks(self, path: str) -> tuple[str, ...]:
        """The other files that a file links to, each once, in the order of its text."""
        return self._ask(lambda store: self._outlinks(store, path))

    def backlinks(self, path: str) -> tuple[str, ...]:
        """The other files that link to a file, sorted."""
        return self._ask(lambda store: self._backlinks(self._beyond_doubt(store), path))

    def outlines(self) -> Iterator[tuple[str, Outline]]:
        """All outlines that are known, sorted by path: those of all notes."""
        return self._ask(lambda store: store.outlines())

    def _ask(self, question: Callable[[IndexStore], T]) -> T:
        """The store's answer; a store that is damaged or can't be written is exchanged first."""
        with self._lock:
            try:
                return question(self._store())
            except IndexUnwritable:
                self._exchange(IndexStore.in_memory)
            except IndexDamaged:
                if self._opened is not None:
                    self._opened.discard()
                self._exchange(self._open)
            store = self._store()
            self._look(store)
            return question(store)

    def _store(self) -> IndexStore:
        if self._opened is None:
            self._opened = self._open()
            self._seen_version = self._opened.version()
        return self._opened

    def _open(self) -> IndexStore:
        if self._memory_dir is None:
            return IndexStore.in_memory()
        return IndexStore.at(self._memory_dir / INDEX_FILE)

    def _exchange(self, make: Callable[[], IndexStore]) -> None:
        self.close()
        self._opened = make()
        self._seen_version = self._opened.version()

    def _look(self, store: IndexStore, on_progress: Progress | None = None) -> Changes:
        began, began_work = time.monotonic(), time.thread_time()
        stamps = file_stamps(self.root, without=self._not_indexed())
        rest = rest_after(time.monotonic() - began, time.thread_time() - began_work)
        self._is_doubtful = False
        if store.version() != self._seen_version:
            self._seen_version = store.version()
            self._cache.clear()
        digest = digest_of(stamps)
        changes = Changes()
        if digest != store.digest():
            self._is_settled = True
            changes = self._take_in(store, set(stamps), set(store.stamps()), on_progress)
            if self._is_settled:
                store.keep_digest(digest)
        self._next_look = time.monotonic() + rest
        return changes

    def _beyond_doubt(self, store: IndexStore) -> IndexStore:
        """The store, after a look if a note has just been read that has other links than before."""
        if self._is_doubtful:
            self._look(store)
        return store

    def _not_indexed(self) -> tuple[str, ...]:
        if self._memory_dir is None or not self._memory_dir.is_relative_to(self.root):
            return ()
        return (self._memory_dir.relative_to(self.root).as_posix(),)

    def _update(self, store: IndexStore, paths: list[str]) -> Changes:
        found: set[FileStamp] = set()
        known: set[FileStamp] = set()
        for path in paths:
            entry = store.entry(path)
            if entry is not None:
                known.add(entry.stamp)
            if stamp := stamp_of(self.root, path, without=self._not_indexed()):
                found.add(stamp)
            elif entry is None and self._may_be_about_others(path):
                return self._look(store)
        return self._take_in(store, found, known)

    def _may_be_about_others(self, path: str) -> bool:
        """A folder that came or went, or an ignore file, is about more files than itself."""
        name = path.rpartition("/")[2]
        full_path = self.root / path
        return name in IGNORE_FILES or full_path.is_dir() or not full_path.exists()

    def _take_in(
        self,
        store: IndexStore,
        found: set[FileStamp],
        known: set[FileStamp],
        on_progress: Progress | None = None,
    ) -> Changes:
        if found == known:
            return Changes()
        fresh = {stamp[0]: stamp for stamp in found - known}
        former = {stamp[0] for stamp in known - found}
        present = fresh.keys()
        changes = Changes(
            tuple(sorted(present - former)),
            tuple(sorted(present & former)),
            tuple(sorted(former - present)),
        )
        affected = store.remove(changes.removed)
        affected |= store.change(self._entry(fresh[path]) for path in changes.changed)
        come = (self._entry(fresh[path]) for path in changes.added)
        affected |= store.add(_counted(come, len(changes.added), on_progress))
        self._cache.forget(changes, affected, store.sources)
        return changes

    def _entry(self, stamp: FileStamp) -> Entry:
        path = stamp[0]
        if not is_note(path):
            return Entry(stamp, is_known=False)
        found = read_text(f"{self.root}{os.sep}{path}", is_plain=True)
        entry = entry_of(path, found) if isinstance(found, FileText) else Entry(stamp)
        if entry.stamp != stamp:  # it changes right now: the next look has to look at it again
            self._is_settled = False
        return entry

    def _take_in_read(
        self, store: IndexStore, path: str, found: FileText | Unreadable
    ) -> tuple[str, Outline] | None:
        """A file as it was just read; stored if it is in the index and changed."""
        entry = self._known(store, path)
        if isinstance(found, Unreadable):
            return None
        text = found.text.removeprefix("\ufeff")
        stamp = (path, found.mtime_ns, found.size, found.inode)
        if entry is not None and entry.stamp == stamp and entry.outline is not None:
            return text, entry.outline
        fresh = entry_of(path, found)
        self._is_doubtful |= _links_of(entry) != _links_of(fresh)
        if entry is not None:
            self._cache.forget(Changes(changed=(path,)), store.change([fresh]), store.sources)
        return text, fresh.outline or Outline(len(text))

    def _outline(self, store: IndexStore, path: str) -> Outline | None:
        entry = self._known(store, path)
        full_path = f"{self.root}{os.sep}{path}"
        if entry is not None and entry.is_known and self._is_unchanged(entry.stamp, full_path):
            return entry.outline
        read = self._take_in_read(store, path, read_text(full_path))
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

    def _names_now(self, store: IndexStore) -> Names:
        if self._cache.names is None:
            self._cache.names = Names(store.paths())
        return self._cache.names

    def _lengths(self, store: IndexStore, paths: Sequence[str]) -> list[int | None]:
        """Asked for thousands at once, so those that were just looked at cost next to nothing."""
        entries = self._cache.entries if self._has_just_looked() else {}
        outlines = [entry and entry.outline for entry in map(entries.get, paths)]
        if None in outlines:
            pairs = zip(paths, outlines, strict=True)
            outlines = [outline or self._outline(store, path) for path, outline in pairs]
        return [outline and outline[0] for outline in outlines]

    def _links(self, store: IndexStore, path: str) -> tuple[tuple[Link, Resolution], ...]:
        known = self._cache.links.get(path)
        if known is None:
            outline, names = self._outline(store, path), self._names_now(store)
            links = outline.links if outline is not None else ()
            known = tuple((link, names.resolve(link.target, path)) for link in links)
            self._cache.links[path] = known
        return known

    def _outlinks(self, store: IndexStore, path: str) -> tuple[str, ...]:
        known = self._cache.targets.get(path)
        if known is None:
            targets = (resolved.path for _, resolved in self._links(store, path))
            known = tuple(dict.fromkeys(t for t in targets if t is not None and t != path))
            self._cache.targets[path] = known
        return known

    def _backlinks(self, store: IndexStore, path: str) -> tuple[str, ...]:
        known = self._cache.backlinks.get(path)
        if known is None:
            sources = {source for key in keys_of(path) for source in self._sources(store, key)}
            linking = (source for source in sources if path in self._outlinks(store, source))
            known = self._cache.backlinks[path] = tuple(sorted(linking))
        return known

    def _sources(self, store: IndexStore, key: str) -> tuple[str, ...]:
        if key not in self._cache.sources:
            self._cache.sources[key] = store.sources(key)
        return self._cache.sources[key]


def _links_of(entry: Entry | None) -> list[str]:
    outline = entry and entry.outline
    return [link.target for link in outline.links] if outline else []


def _counted(entries: Iterable[Entry], total: int, on_progress: Progress | None) -> Iterable[Entry]:
    return entries if on_progress is None else _counting(entries, total, on_progress)


def _counting(entries: Iterable[Entry], total: int, on_progress: Progress) -> Iterator[Entry]:
    for done, entry in enumerate(entries):
        on_progress(done, total)
        yield entry
