"""Keeps an index right while somebody edits the vault."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from watchfiles import Change, awatch

from smart_context.vault.index import VaultIndex
from smart_context.vault.index_cache import Changes
from smart_context.vault.walk import IGNORE_FILES


async def watch_vault(index: VaultIndex, on_change: Callable[[Changes], None]) -> None:
    """Take in what changes in the vault until cancelled.

    Args:
        index: Brought up to date first; from then on its questions need no look at the disk.
        on_change: Told what changed, the first look included; not called for nothing.
    """
    root = await asyncio.to_thread(Path(index.root).resolve)

    def matters(_change: Change, path: str) -> bool:
        return _is_shown(Path(path).relative_to(root))

    changes_of_files = awatch(
        root, watch_filter=matters, step=20, debounce=200, ignore_permission_denied=True,
        yield_on_timeout=True, rust_timeout=20,
    )  # fmt: skip
    try:
        await anext(changes_of_files)  # the watch has begun: from here on nothing is missed
        _tell(on_change, await asyncio.to_thread(index.refresh))
        index.is_watched = True
        async for batch in changes_of_files:
            if batch:
                paths = [Path(path).relative_to(root).as_posix() for _, path in batch]
                _tell(on_change, await asyncio.to_thread(index.update, paths))
    finally:
        index.is_watched = False
        await changes_of_files.aclose()


def _is_shown(path: Path) -> bool:
    *folders, name = path.parts or ("",)
    return not any(folder.startswith(".") for folder in folders) and (
        not name.startswith(".") or name in IGNORE_FILES
    )


def _tell(on_change: Callable[[Changes], None], changes: Changes) -> None:
    if any(changes):
        on_change(changes)
