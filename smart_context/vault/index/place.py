"""Opens the index's store: in its file if that can be written, else in memory."""

from smart_context.base.disk.folders import is_folder
from smart_context.base.disk.places import Place
from smart_context.vault.index.store import IndexDamaged, IndexStore, IndexUnwritable

INDEX_FILE = "index/vault.sqlite3"
"""The index's file, relative to the memory folder."""


class IndexPlace:
    """Opens the index's store when it is needed. Not thread-safe.

    Args:
        memory: The folder to write to. If it is `None` or can't be written to, the index stays in
            memory.
        makes_folder: Whether to make the folder. If not, the index stays in memory until the
            folder is there, and then moves into it.
    """

    def __init__(self, memory: Place | None, *, makes_folder: bool = True) -> None:
        self._memory = memory
        self._makes_folder = makes_folder
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
        memory = self._memory
        if self._is_waiting and memory is not None and is_folder(memory):
            self._move(opened, memory)
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
        if self._memory is None:
            return IndexStore.in_memory()
        if self._makes_folder or is_folder(self._memory):
            return IndexStore.in_file(self._memory / INDEX_FILE)
        self._is_waiting = True
        return IndexStore.in_memory()

    def _move(self, opened: IndexStore, memory: Place) -> None:
        self._is_waiting = False
        try:
            moved = opened.copied_to(memory / INDEX_FILE)
        except IndexDamaged:
            return  # stays in memory
        self._take(moved)
        opened.close()

    def _take(self, store: IndexStore) -> IndexStore:
        self._opened = store
        self._version = store.version()
        return store
