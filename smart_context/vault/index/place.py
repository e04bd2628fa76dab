"""Where the index is: in its file as soon as there can be one, else in memory."""

from smart_context.disk.folders import is_folder
from smart_context.disk.places import Place
from smart_context.vault.index.store import IndexDamaged, IndexStore, IndexUnwritable

INDEX_FILE = "index/vault.sqlite3"
"""Where the index is kept, in the memory folder."""


class IndexPlace:
    """Opens the index's store when it is needed. Not for several threads at the same time.

    Args:
        memory: The folder for what may be written. `None`, or one that can't be written: the
            index is in memory.
        makes_folder: Whether the folder may be made. If not, the index is in memory until
            somebody else has made it, and then moves there.
    """

    def __init__(self, memory: Place | None, *, makes_folder: bool = True) -> None:
        self._memory = memory
        self._makes_folder = makes_folder
        self._opened: IndexStore | None = None
        self._version = 0
        self._is_waiting = False

    def store(self) -> IndexStore:
        """The store, opened if it is not.

        Raises:
            IndexUnwritable: If there can be no file; `mend` it.
        """
        opened = self._opened
        if opened is None:
            return self._take(self._open())
        memory = self._memory
        if self._is_waiting and memory is not None and is_folder(memory):
            self._move(opened, memory)
        return self._opened or opened

    def is_changed_elsewhere(self) -> bool:
        """Whether another program changed the file since it was asked last."""
        former, self._version = self._version, self.store().version()
        return former != self._version

    def close(self) -> None:
        """Close the file."""
        if self._opened is not None:
            self._opened.close()
        self._opened = None

    def mend(self, fault: IndexDamaged) -> None:
        """Exchange a store that failed: for one in memory, or for a new file if it is damaged."""
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
            return IndexStore.at(self._memory / INDEX_FILE)
        self._is_waiting = True
        return IndexStore.in_memory()

    def _move(self, former: IndexStore, memory: Place) -> None:
        self._is_waiting = False
        try:
            moved = former.copied_to(memory / INDEX_FILE)
        except IndexDamaged:
            return  # it goes on in memory
        self._take(moved)
        former.close()

    def _take(self, store: IndexStore) -> IndexStore:
        self._opened = store
        self._version = store.version()
        return store
