"""Opens the index's store: in its database if that can be written, else in memory."""

from smart_context.base.caches import Caches
from smart_context.vault.index.store import IndexDamaged, IndexStore, IndexUnwritable

INDEX_FILE = "vault.sqlite3"
"""The name of the index's database."""


class IndexPlace:
    """Opens the index's store when it is needed. Not thread-safe.

    Args:
        caches: Keeps the database. If it is `None` or can't be written to, the index stays in
            memory; if there is nowhere to keep anything yet, it moves there later.
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
