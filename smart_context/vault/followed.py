"""A vault's index and the words of its notes: one of each for all who ask in one program.

Nothing is looked at until somebody asks. From then on the vault is followed, so that questions
need no look at the disk.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from smart_context.disk.places import Place, place_below
from smart_context.threads import in_daemon_thread
from smart_context.vault.guarded.walk import FileStamp
from smart_context.vault.index.cache import VaultChanges
from smart_context.vault.index.passages import Passage, VaultPassages
from smart_context.vault.index.vault_index import VaultIndex
from smart_context.vault.watch import watch_vault

CLOSE_PATIENCE_S = 0.3

T = TypeVar("T")

_logger = logging.getLogger(__name__)


class FollowedVault:
    """The notes of a vault, for one event loop; satisfies `PassageSource`.

    Making one reads and writes nothing. The memory folder is never made: until it is there, the
    index is kept in memory.

    Args:
        root: The vault.
        memory_dir: The folder for what may be written.

    Attributes:
        index: For work in threads; who uses it without `ask` does not start the following.
    """

    def __init__(self, root: Path, memory_dir: Path) -> None:
        self.root = root
        self.memory_dir = memory_dir
        self.index = VaultIndex(root, memory_dir, makes_folder=False)
        self._passages = VaultPassages(self.index)
        self._asked = asyncio.Event()
        self._listeners: list[Callable[[VaultChanges], None]] = []

    @property
    def memory(self) -> Place:
        """The memory folder, for opening what is in it."""
        return place_below(self.root, self.memory_dir)

    @property
    def without(self) -> tuple[str, ...]:
        """What is no part of the notes: the memory folder, relative to the vault."""
        return self.index.without

    async def ask(self, question: Callable[[VaultIndex], T]) -> T:
        """The index's answer, found in a thread that can't hold up the program's end."""
        self._asked.set()
        return await in_daemon_thread(lambda: question(self.index), name="notes")

    async def find(self, query: str, limit: int) -> Sequence[Passage]:
        """The passages that are closest to a text by their words, best first."""
        self._asked.set()
        found = self._passages.find
        return await in_daemon_thread(lambda: found(query, limit), name="passages")

    async def sharing_words(self, query: str, limit: int) -> list[tuple[FileStamp, float]]:
        """The notes that have most of a text's words, and how much of them, from 0 to 1."""
        self._asked.set()
        found = self._passages.notes
        return await in_daemon_thread(lambda: found(query, limit), name="passages")

    def on_change(self, listener: Callable[[VaultChanges], None]) -> Callable[[], None]:
        """Tell somebody of each change while the vault is followed; must not block.

        Returns:
            A function that ends it.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def follow(self) -> None:
        """Follow the vault as soon as somebody asks, until cancelled; then close the index.

        A vault that can't be watched is looked at when somebody asks.
        """
        await self._asked.wait()
        try:
            await in_daemon_thread(self.index.refresh, name="notes")
            await watch_vault(self.index, self._tell)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - many systems fail to watch, each in its own way
            _logger.warning(
                "The vault can't be watched (%s); it is looked at when it is asked for.", error
            )
            await asyncio.get_running_loop().create_future()
        finally:
            await self._close()

    async def _close(self) -> None:
        """Not waited for while the vault is still being read."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_PATIENCE_S):
                await in_daemon_thread(self.index.close, name="notes")

    def _tell(self, changes: VaultChanges) -> None:
        for listener in [*self._listeners]:
            listener(changes)
