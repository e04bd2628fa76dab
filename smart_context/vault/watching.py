"""Watches the files of a vault, and reports changes to its index."""

import asyncio
import contextlib
import errno
import os
import stat
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

from watchfiles import Change, awatch

from smart_context.vault.guarded.scopes import IGNORE_FILES, folders_above
from smart_context.vault.guarded.walk import readable_folders
from smart_context.vault.index.cache import VaultChanges
from smart_context.vault.index.vault_index import VaultIndex

_AGAIN_S = 0.05
_Batch = set[tuple[Change, str]]


async def watch_vault(index: VaultIndex, on_change: Callable[[VaultChanges], None]) -> None:
    """Update the index with changes in the vault until cancelled.

    Args:
        index: Refreshed first; from then on it need not look at the disk.
        on_change: Called with the changes, including those of the first look; never with none.
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
    """Update the index with changes in these folders until the set of folders may have changed."""
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
