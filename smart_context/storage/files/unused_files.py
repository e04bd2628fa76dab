"""Removes attached files that no document names any more."""

import logging
import re
import stat
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from smart_context.base.disk.files import MAX_FILE_BYTES as MOST_READ_BYTES
from smart_context.base.disk.folders import Folder, opened
from smart_context.base.disk.places import Place, folder_of
from smart_context.storage.files.blobs import FILES_FOLDER
from smart_context.storage.ports import KEPT_S

_FILE = re.compile(r"([0-9a-f]{64})(?:\.json|\.txt)?")
_NAMED = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_VECTORS = ".embeddings.json"
_DEEPEST = 8
_logger = logging.getLogger(__name__)


def remove_unused(memory: Path | Place, *, now: float) -> list[str]:
    """Remove attached files that were not used for a week and that no document names; blocks.

    If anything can't be read, nothing is removed: it could name any file. Links are ignored.

    Args:
        now: Seconds since 1970.

    Returns:
        The keys of the removed files.
    """
    try:
        with opened(folder_of(memory)) as folder, folder.folder(FILES_FOLDER) as files:
            old = {key: names for key, names in _files(files).items() if _is_old(files, names, now)}
            unused = sorted(old.keys() - set(_named_in(folder)) if old else ())
            return [key for key in unused if _remove(files, old[key], now)]
    except FileNotFoundError:
        return []
    except OSError as error:
        _logger.warning("Unused attached files were not removed: %s", error)
        return []


def _files(folder: Folder) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for name in folder.names():
        if matched := _FILE.fullmatch(name):
            found[matched[1]].append(name)
    return found


def _is_old(folder: Folder, names: list[str], now: float) -> bool:
    found = [folder.status(name) for name in names]
    is_plain = all(stat.S_ISREG(status.st_mode) for status in found)
    return is_plain and max(status.st_mtime for status in found) < now - KEPT_S


def _named_in(folder: Folder, depth: int = 0) -> Iterator[str]:
    """The keys named by the documents in a folder and below it."""
    for name in folder.names():
        mode = folder.status(name).st_mode
        if stat.S_ISDIR(mode) and (depth or name != FILES_FOLDER):
            if depth == _DEEPEST:
                raise OSError(f"{folder.path / name} is nested too deeply")
            with folder.folder(name) as inner:
                yield from _named_in(inner, depth + 1)
        elif stat.S_ISREG(mode) and ".json" in name and not name.endswith(_VECTORS):
            content = folder.read(name, MOST_READ_BYTES)[1]
            yield from (key.decode("ascii") for key in _NAMED.findall(content))


def _remove(folder: Folder, names: list[str], now: float) -> bool:
    """Remove a file and its description, unless it was attached again meanwhile."""
    try:
        if not _is_old(folder, names, now):
            return False
        for name in sorted(names, key=lambda name: "." in name):
            folder.remove(name)
    except OSError as error:
        _logger.warning("An unused attached file was not removed: %s", error)
        return False
    return True
