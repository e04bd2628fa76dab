"""The vault's notes, opened when somebody first asks for them and followed from then on.

One index serves all named contexts of a host. A vault whose contexts nobody uses is never looked
at, and nothing is written unless the memory folder is there already.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Hashable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from smart_context.contexts import SmartContexts
from smart_context.host.modules import in_daemon_thread
from smart_context.plugin.note_tree import NoteTree
from smart_context.vault.index import VaultIndex
from smart_context.vault.index_cache import Changes
from smart_context.vault.passages import Passage, VaultPassages
from smart_context.vault.walk import readable_files
from smart_context.vault.watch import watch_vault

LISTING_FRESH_S = 3.0
"""How long a list of the files is taken for right when nobody watches the vault."""

CLOSE_PATIENCE_S = 1.0

T = TypeVar("T")


class VaultNotes:
    """Answers questions about the notes; each in a thread that can't hold up the program's end.

    Args:
        root: The vault.
        memory_dir: Where contexts and the index are kept.
        run: Runs work in the background, in place of the former of the same key.
        on_change: Told what changed in the vault, once somebody has asked for it.
        logger: For what people should know.
    """

    def __init__(
        self,
        root: Path,
        memory_dir: Path,
        *,
        run: Callable[[Hashable, Coroutine[Any, Any, None]], object],
        on_change: Callable[[Changes], None],
        logger: logging.Logger,
    ) -> None:
        self.root = root
        self._memory_dir = memory_dir
        self._run = run
        self._on_change = on_change
        self._logger = logger
        self._contexts: SmartContexts | None = None
        self._is_stored = False
        self._passages: VaultPassages | None = None
        self._tree: NoteTree | None = None
        self._listed_at = 0.0

    async def ask(self, question: Callable[[SmartContexts], T]) -> T:
        """The answer of the named contexts and their index."""
        contexts = self._open()
        return await in_daemon_thread(lambda: question(contexts), name="notes")

    async def tree(self) -> NoteTree:
        """The files that can be put into a context, as they are now."""
        index = self._open().index
        age = time.monotonic() - self._listed_at
        if self._tree is None or (age > LISTING_FRESH_S and not index.is_watched):
            began = time.monotonic()
            self._tree = await in_daemon_thread(self._walk, name="notes")
            self._listed_at = began
        return self._tree

    async def nearest(self, query: str, limit: int) -> Sequence[Passage]:
        """The passages of the vault that are closest to a text, best first."""
        if self._passages is None:
            self._passages = VaultPassages(self.root, without=self.without)
        return await self._passages.find(query, limit)

    async def close(self) -> None:
        """Close the index's file; not waited for while the vault is still being read."""
        if self._contexts is None:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_PATIENCE_S):
                await in_daemon_thread(self._contexts.close, name="notes")

    def _walk(self) -> NoteTree:
        return NoteTree(readable_files(self.root, without=self.without))

    @property
    def without(self) -> tuple[str, ...]:
        """What is no part of the vault's notes: the memory folder, relative to the vault."""
        if not self._memory_dir.is_relative_to(self.root):
            return ()
        return (self._memory_dir.relative_to(self.root).as_posix(),)

    def _open(self) -> SmartContexts:
        """The contexts; the index goes into the memory folder as soon as that is there."""
        can_store = self._memory_dir.is_dir()
        if self._contexts is None or (can_store and not self._is_stored):
            index = VaultIndex(self.root, self._memory_dir if can_store else None)
            self._contexts = SmartContexts(self.root, None, self._memory_dir, index=index)
            self._is_stored = can_store
            self._run("notes", self._follow(index))
        return self._contexts

    async def _follow(self, index: VaultIndex) -> None:
        """Index the vault and follow it; without a watch it is looked at when somebody asks."""
        try:
            await in_daemon_thread(index.refresh, name="notes")
            await watch_vault(index, self._take_in)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - many systems fail to watch, each in its own way
            self._logger.warning(
                "The vault can't be watched (%s); it is looked at when it is asked for.", error
            )

    def _take_in(self, changes: Changes) -> None:
        if changes.added or changes.removed:
            self._tree = None
        self._on_change(changes)
