"""Removes attached files that no chat uses any more.

A file that is attached and never sent, or whose chat was deleted for good, would stay for ever.
A file is in use as long as anything in the memory folder names its key: a chat, a deleted one in
the trash, one that was set aside, a receipt.
"""

import logging
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from smart_context.chat.file_store import FILES_FOLDER

KEPT_S = 7 * 24 * 3600
"""How long a file stays in any case after it was attached or sent last."""

_FILE = re.compile(r"([0-9a-f]{64})(?:\.json|\.txt)?")
_NAMED = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_VECTORS = ".embeddings.json"
_logger = logging.getLogger(__name__)


def remove_unused(memory: Path, *, now: float) -> list[str]:
    """Remove the files in a memory folder that nothing has named for a week; blocks.

    If anything can't be read, nothing is removed: it could name any of them.

    Args:
        memory: Where the chats are.
        now: Seconds since 1970.

    Returns:
        The keys of the files that are gone.
    """
    folder = memory / FILES_FOLDER
    try:
        old = {key: paths for key, paths in _files(folder).items() if _is_old(paths, now)}
        unused = sorted(old.keys() - _named_in(memory) if old else ())
    except OSError as error:
        _logger.warning("attached files are not cleared up: %s", error)
        return []
    return [key for key in unused if _remove(old[key], now)]


def _files(folder: Path) -> Mapping[str, list[Path]]:
    found: dict[str, list[Path]] = defaultdict(list)
    if folder.is_dir():
        for path in folder.iterdir():
            if name := _FILE.fullmatch(path.name):
                found[name[1]].append(path)
    return found


def _is_old(paths: list[Path], now: float) -> bool:
    return max(path.stat().st_mtime for path in paths) < now - KEPT_S


def _named_in(memory: Path) -> set[str]:
    names: set[bytes] = set()
    for path in _documents(memory):
        names.update(_NAMED.findall(path.read_bytes()))
    return {name.decode("ascii") for name in names}


def _documents(memory: Path) -> Iterator[Path]:
    def fail(error: OSError) -> None:
        raise error

    for folder, folders, names in os.walk(memory, onerror=fail):
        if Path(folder) == memory and FILES_FOLDER in folders:
            folders.remove(FILES_FOLDER)
        for name in names:
            path = Path(folder) / name
            if ".json" in name and not name.endswith(_VECTORS) and path.is_file():
                yield path


def _remove(paths: list[Path], now: float) -> bool:
    """Remove a file with what is known of it, unless it was attached again meanwhile."""
    try:
        if not _is_old(paths, now):
            return False
        for path in sorted(paths, key=lambda path: path.suffix != ""):
            path.unlink(missing_ok=True)
    except OSError as error:
        _logger.warning("an attached file is not removed: %s", error)
        return False
    return True
