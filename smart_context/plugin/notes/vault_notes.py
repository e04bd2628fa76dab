"""The vault's notes as the plugin uses them: named contexts, and the tree of files."""

import time
from collections.abc import Callable
from typing import TypeVar

from smart_context.contexts import SmartContexts
from smart_context.plugin.notes.note_tree import NoteTree
from smart_context.storage.ports import VaultDocuments
from smart_context.vault.followed import FollowedVault
from smart_context.vault.index.cache import VaultChanges
from smart_context.vault.index.vault_index import VaultIndex

LISTING_FRESH_S = 3.0
"""How long a list of files is reused in a vault that can't be watched."""

T = TypeVar("T")


class VaultNotes:
    """Answers questions about the notes.

    Args:
        on_change: Called with what changed, once the vault is in use.
    """

    def __init__(
        self,
        vault: FollowedVault,
        documents: VaultDocuments,
        *,
        on_change: Callable[[VaultChanges], None],
    ) -> None:
        self._vault = vault
        self._on_change = on_change
        self._contexts = SmartContexts(
            vault.root, None, vault.memory_dir, index=vault.index, documents=documents
        )
        self._tree: NoteTree | None = None
        self._listed_at = 0.0
        self._unsubscribe = vault.on_change(self._take_in)

    async def ask(self, question: Callable[[SmartContexts], T]) -> T:
        """Ask the named contexts and their index, in a thread."""
        return await self._vault.ask(lambda _index: question(self._contexts))

    async def tree(self) -> NoteTree:
        """The current files that can be put into a context."""
        age = time.monotonic() - self._listed_at
        if self._tree is None or (age > LISTING_FRESH_S and not self._vault.index.is_watched):
            began = time.monotonic()
            self._tree = await self._vault.ask(_tree_of)
            self._listed_at = began
        return self._tree

    def close(self) -> None:
        """Stop listening."""
        self._unsubscribe()

    def _take_in(self, changes: VaultChanges) -> None:
        if changes.added or changes.removed:
            self._tree = None
        self._on_change(changes)


def _tree_of(index: VaultIndex) -> NoteTree:
    return NoteTree(index.files_below(""))
