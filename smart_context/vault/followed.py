"""A vault's index and word index, shared by everything in one process.

The first question starts following the vault; from then on questions need not look at the disk.
"""

import asyncio
import contextlib
import errno
import logging
import os
import stat
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from watchfiles import Change, awatch

from smart_context.base.caches import Caches
from smart_context.base.threads import in_daemon_thread
from smart_context.vault.guarded.scopes import IGNORE_FILES, folders_above
from smart_context.vault.guarded.walk import FileStamp, readable_folders
from smart_context.vault.index.cache import VaultChanges
from smart_context.vault.index.passages import Passage, VaultPassages
from smart_context.vault.index.vault_index import VaultIndex

_AGAIN_S = 0.05
_Batch = set[tuple[Change, str]]


async def watch_vault(index: VaultIndex, on_change: Callable[[VaultChanges], None]) -> None:
    """Take in what changes in the vault until cancelled.

    Args:
        index: Updated first; from then on it need not look at the disk.
        on_change: Called with the changes, those of the first look included; never with none.
    """
    root = await asyncio.to_thread(Path(index.root).resolve)
    while True:  # once for each set of folders
        folders = await asyncio.to_thread(readable_folders, root, without=index.without)
        if not folders:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(root))
        try:
            await _follow(index, root, folders, on_change)
        except FileNotFoundError:  # a folder that was there a moment ago
            await asyncio.sleep(_AGAIN_S)


async def _follow(
    index: VaultIndex, root: Path, folders: list[str], on_change: Callable[[VaultChanges], None]
) -> None:
    """Take in changes in these folders until the set of folders may have changed."""
    reports = _reports(root, folders)
    report = asyncio.ensure_future(anext(reports))
    try:
        await asyncio.sleep(0)  # the watch begins: from here on nothing is missed
        if not report.done():  # else it failed
            _tell(on_change, await asyncio.to_thread(index.refresh))
            index.is_watched = True
        while True:
            batch = await report
            paths = [_in_vault(root, path) for _, path in batch]
            _tell(on_change, await asyncio.to_thread(index.update, paths))
            if await asyncio.to_thread(_changes_folders, batch):
                return
            report = asyncio.ensure_future(anext(reports))
    finally:
        index.is_watched = False
        report.cancel()
        await asyncio.gather(report, return_exceptions=True)
        await reports.aclose()


def _reports(root: Path, folders: list[str]) -> AsyncGenerator[_Batch, None]:
    def matters(_change: Change, path: str) -> bool:
        return _is_shown(Path(_in_vault(root, path)))

    return awatch(
        *(root / folder for folder in folders),
        *folders_above(root),
        watch_filter=matters,
        debounce=200,
        recursive=False,
        ignore_permission_denied=True,
    )


def _changes_folders(batch: _Batch) -> bool:
    """True if a folder was added, or an ignore file, which may exclude some, changed."""
    for change, path in batch:
        if os.path.basename(path) in IGNORE_FILES:  # noqa: PTH119 - asked for each change
            return True
        with contextlib.suppress(OSError):
            if change == Change.added and stat.S_ISDIR(os.lstat(path).st_mode):
                return True
    return False


def _in_vault(root: Path, path: str) -> str:
    """A path relative to the vault, with `/`.

    An ignore file above the vault counts as one at its top, and other files as hidden.
    """
    if path.startswith(f"{root}{os.sep}") or path == str(root):
        return Path(path).relative_to(root).as_posix()
    name = os.path.basename(path)  # noqa: PTH119 - asked for each change
    return name if name in IGNORE_FILES else ".hidden"


def _is_shown(path: Path) -> bool:
    *folders, name = path.parts or ("",)
    return not any(folder.startswith(".") for folder in folders) and (
        not name.startswith(".") or name in IGNORE_FILES
    )


def _tell(on_change: Callable[[VaultChanges], None], changes: VaultChanges) -> None:
    if any(changes):
        on_change(changes)


CLOSE_PATIENCE_S = 0.3

T = TypeVar("T")

_logger = logging.getLogger(__name__)


class FollowedVault:
    """The notes of a vault, for one event loop; satisfies `PassageSource`.

    The constructor reads and writes nothing. Until there is somewhere to keep it, the index stays
    in memory.

    Args:
        memory_dir: A folder that is not part of the notes.
        caches: Keeps the indexes; in memory by default.
        may_keep_words: Asked before the word index is written to disk.

    Attributes:
        index: For work in threads. Using it without `ask` does not start following the vault.
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
            A function that ends this.
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
