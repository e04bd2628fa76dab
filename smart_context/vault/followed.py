"""A vault's index and word index, shared by everything in one process.

The first question starts following the vault; from then on questions need not look at the disk.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from smart_context.base.caches import Caches
from smart_context.base.threads import in_daemon_thread
from smart_context.vault.guarded.walk import FileStamp
from smart_context.vault.index.cache import VaultChanges
from smart_context.vault.index.passages import Passage, VaultPassages
from smart_context.vault.index.vault_index import VaultIndex
from smart_context.vault.watching import watch_vault

CLOSE_PATIENCE_S = 0.3

T = TypeVar("T")

_logger = logging.getLogger(__name__)


class FollowedVault:
    """The notes of a vault, for one event loop; satisfies `PassageSource`.

    The constructor reads and writes nothing. The index stays in memory until `caches` has a place
    for it.

    Args:
        memory_dir: The memory folder, which is not part of the notes.
        caches: Keeps the indexes; by default they stay in memory.
        may_keep_words: Returns False to forbid writing the word index to disk.

    Attributes:
        index: The index, for work in threads. Using it without `ask` does not start following the
            vault.
    """

    def __init__(
        self,
        root: Path,
        memory_dir: Path,
        *,
        caches: Caches | None = None,
        may_keep_words: Callable[[], bool] = lambda: True,
    ) -> None:
        self.root = root
        self.memory_dir = memory_dir
        self.index = VaultIndex(root, memory_dir, caches=caches)
        self._passages = VaultPassages(self.index, may_keep=may_keep_words)
        self._asked = asyncio.Event()
        self._listeners: list[Callable[[VaultChanges], None]] = []

    @property
    def without(self) -> tuple[str, ...]:
        """The memory folder, relative to the vault: not part of the notes."""
        return self.index.without

    async def ask(self, question: Callable[[VaultIndex], T]) -> T:
        """The index's answer, from a thread that the program does not wait for at its end."""
        self._asked.set()
        return await in_daemon_thread(lambda: question(self.index), name="notes")

    async def find(self, query: str, limit: int) -> Sequence[Passage]:
        """The passages that match a text's words best, best first."""
        self._asked.set()
        found = self._passages.find
        return await in_daemon_thread(lambda: found(query, limit), name="passages")

    async def sharing_words(self, query: str, limit: int) -> list[tuple[FileStamp, float]]:
        """The notes with most of a text's words, and their shares, from 0 to 1."""
        self._asked.set()
        found = self._passages.notes
        return await in_daemon_thread(lambda: found(query, limit), name="passages")

    def on_change(self, listener: Callable[[VaultChanges], None]) -> Callable[[], None]:
        """Call `listener`, which must not block, after each change while following.

        Returns:
            A function that removes the listener.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def follow(self) -> None:
        """Follow the vault from the first question until cancelled; then close the index.

        In a vault that can't be watched, each question looks at the disk.
        """
        await self._asked.wait()
        try:
            await in_daemon_thread(self.index.refresh, name="notes")
            await watch_vault(self.index, self._tell)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - many systems fail to watch, each in its own way
            _logger.warning(
                "The vault can't be watched (%s); each question looks at the disk instead.", error
            )
            await asyncio.get_running_loop().create_future()
        finally:
            await self._close()

    async def _close(self) -> None:
        """Close the index, without waiting while the vault is still being read."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_PATIENCE_S):
                await in_daemon_thread(self.index.close, name="notes")

    def _tell(self, changes: VaultChanges) -> None:
        for listener in [*self._listeners]:
            listener(changes)
