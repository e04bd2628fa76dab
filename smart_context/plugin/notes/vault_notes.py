"""The vault's notes as the plugin uses them: contexts, the tree of files, slash commands."""

import re
import time
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import TypeVar

from smart_context.base.values import JsonObject
from smart_context.contexts import SmartContexts
from smart_context.plugin.notes.note_tree import NoteTree
from smart_context.storage.ports import VaultDocuments
from smart_context.vault.followed import FollowedVault
from smart_context.vault.index.cache import VaultChanges
from smart_context.vault.index.vault_index import VaultIndex
from smart_context.vault.markdown.front_matter import front_matter_end

LISTING_FRESH_S = 3.0
"""Time for which a list of files is reused in a vault that can't be watched."""

T = TypeVar("T")


class ListedFiles:
    """The files of a vault, listed again when they change.

    Args:
        on_change: Called with the changes of the vault once it is in use.
    """

    def __init__(self, vault: FollowedVault, *, on_change: Callable[[VaultChanges], None]) -> None:
        self._vault = vault
        self._on_change = on_change
        self._tree: NoteTree | None = None
        self._listed_at = 0.0
        self._unsubscribe = vault.on_change(self._take_in)

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


class VaultNotes:
    """Answers questions about the notes, and about one person's named contexts."""

    def __init__(self, vault: FollowedVault, documents: VaultDocuments, files: ListedFiles) -> None:
        self._vault = vault
        self._contexts = SmartContexts(
            vault.root, None, vault.memory_dir, index=vault.index, documents=documents
        )
        self.tree = files.tree

    async def ask(self, question: Callable[[SmartContexts], T]) -> T:
        """Ask the named contexts and their index, in a thread."""
        return await self._vault.ask(lambda _index: question(self._contexts))

    async def slash_commands(self) -> JsonObject:
        """List the texts that the notes in the folder `Commands` put into the message box."""
        prefix = f"{FOLDER}/"
        known = (await self.tree()).paths
        paths = [path for path in known if path.startswith(prefix) and path.endswith(".md")]
        return {"commands": await self.ask(lambda contexts: _read(contexts, paths))}


def _tree_of(index: VaultIndex) -> NoteTree:
    return NoteTree(index.files_below(""))


FOLDER = "Commands"
MOST_COMMANDS = 100
MOST_CHARACTERS = 20_000
_LONGEST_HINT = 80
_NOT_IN_NAMES = re.compile(r"[^\w-]+")


def _read(contexts: SmartContexts, paths: list[str]) -> list[JsonObject]:
    found: dict[str, JsonObject] = {}
    for path in paths[:MOST_COMMANDS]:
        name = _NOT_IN_NAMES.sub("-", PurePosixPath(path).stem).strip("-").lower()
        note = contexts.index.read(path)
        text = note[0][front_matter_end(note[0]) :].strip() if note else ""
        if name and text and len(text) <= MOST_CHARACTERS:
            hint = text.partition("\n")[0][:_LONGEST_HINT]
            found.setdefault(name, {"name": name, "text": text, "hint": hint})
    return list(found.values())
