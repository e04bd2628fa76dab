"""Reads the files that changed on disk into the index's store."""

import logging
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from smart_context.vault.guarded.files import FileText, VaultFiles
from smart_context.vault.guarded.walk import (
    IGNORE_FILES,
    FileStamp,
    cut_words,
    file_stamps,
    stamp_of,
)
from smart_context.vault.index.cache import VaultChanges
from smart_context.vault.index.rows import IndexEntry, digest_of, entry_of, is_note
from smart_context.vault.index.store import IndexStore

_logger = logging.getLogger(__name__)

Progress = Callable[[int, int], None]
"""Called with the number of new files read so far, and their total."""


class Taken(NamedTuple):
    """The files that changed, and the keys of the links that they had and have."""

    changes: VaultChanges = VaultChanges()
    keys: frozenset[str] = frozenset()


class Intake:
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
    ) -> Taken:
        """Take in all changes.

        Args:
            on_progress: Called for each new file.
        """
        digest = digest_of(stamps)
        if digest == store.digest():
            return Taken()
        self._is_settled = True
        taken = self._take_in(store, set(stamps), set(store.stamps()), on_progress)
        if self._is_settled:
            store.keep_digest(digest)
        return taken

    def some(self, store: IndexStore, paths: Iterable[str]) -> Taken | None:
        """Take in changes of these files; `None` if others may have changed, too."""
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
        """True for an ignore file, and for a folder that came or went."""
        name = path.rpartition("/")[2]
        full_path = self._root / path
        return name in IGNORE_FILES or full_path.is_dir() or not full_path.exists()

    def _take_in(
        self,
        store: IndexStore,
        found: set[FileStamp],
        known: set[FileStamp],
        on_progress: Progress | None = None,
    ) -> Taken:
        if found == known:
            return Taken()
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
        return Taken(changes, frozenset(keys))

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
