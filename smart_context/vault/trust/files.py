"""Reads the files that consent is pinned to: all of `plugins/`, and the roles.

Follows no links and opens no special files. Files that can't be read are listed as refused, and a
part with refused files can't be trusted. Everything here blocks; run it in a thread.
"""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from smart_context.base.disk.folders import leads_elsewhere, read_inside
from smart_context.base.disk.places import Place
from smart_context.vault.trust.parts import FileSet

PLUGINS_FOLDER = "plugins"
ROLES_FOLDER = "roles"
TEMPLATES_FOLDER = "templates"
MAX_FILE_BYTES = 16 * 1024 * 1024
MAX_BYTES = 256 * 1024 * 1024
MAX_FILES = 20_000
MAX_ROLE_BYTES = 1024 * 1024
MAX_ROLE_FILES = 100

_BYTE_CODE_FOLDER = "__pycache__"
_BYTE_CODE_SUFFIXES = (".pyc", ".pyo")

Stamp = tuple[str, int, int, int, int]
"""A file's name, size, times of change and inode; it changes with the file."""

Entry: TypeAlias = "os.DirEntry[str]"
Entries = Callable[[Path, list[str]], Iterator[tuple[str, Entry]]]
"""Lists the files of a folder by their paths below it, and notes the folders that it refuses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleFiles:
    """The roles and templates of a vault as they were read."""

    set: FileSet  # the files that consent is pinned to
    contents: Mapping[str, bytes]  # the bytes of each file, by its path below `roles/`


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFiles:
    """The files in a folder, not read yet."""

    folder: Place
    stamps: tuple[Stamp, ...]  # one for each plain file
    refused: tuple[str, ...]  # all other entries


def find_plugin_files(root: Path) -> FoundFiles:
    """All files below `plugins/`, except byte code, which is never loaded."""
    folder = Place(root.resolve()) / PLUGINS_FOLDER
    return _found(folder, _entries_below, max_files=MAX_FILES, max_file_bytes=MAX_FILE_BYTES)


def find_role_files(root: Path) -> FoundFiles:
    """The files `roles/*.toml` and those in `roles/templates/`."""
    folder = Place(root.resolve()) / ROLES_FOLDER
    return _found(folder, _role_entries, max_files=MAX_ROLE_FILES, max_file_bytes=MAX_ROLE_BYTES)


def plugin_files(found: FoundFiles) -> FileSet:
    """The digests of the files."""
    digests: dict[str, str] = {}
    refused = [*found.refused]
    for name, *_ in found.stamps:
        try:
            content = read_inside(found.folder, name, max_bytes=MAX_FILE_BYTES)
        except OSError:
            refused.append(name)
        else:
            digests[name] = file_digest(content)
    return _file_set(digests, refused)


def role_files(found: FoundFiles) -> RoleFiles:
    """The contents of the files, with their digests."""
    contents: dict[str, bytes] = {}
    refused = [*found.refused]
    for name, *_ in found.stamps:
        try:
            contents[name] = read_inside(found.folder, name, max_bytes=MAX_ROLE_BYTES)
        except OSError:
            refused.append(name)
    digests = {name: file_digest(content) for name, content in contents.items()}
    return RoleFiles(set=_file_set(digests, refused), contents=contents)


def file_digest(content: bytes) -> str:
    """The digest of one file, as `FileSet.files` has it."""
    return hashlib.sha256(content).hexdigest()


def read_pinned(folder: Path, name: str, pinned: Mapping[str, str]) -> bytes:
    """The bytes of a pinned file, exactly those that were compared with the pin.

    Args:
        name: Its path below the folder, with `/`.
        pinned: The digest of each file that is trusted, by such a path.

    Raises:
        FileNotFoundError: It is not among the pinned files.
        OSError: It differs from the pinned file, or can't be read.
    """
    if name not in pinned:
        raise FileNotFoundError(name)
    content = read_inside(folder, name, max_bytes=MAX_FILE_BYTES)
    if file_digest(content) != pinned[name]:
        raise OSError(f"{folder / name} changed after the vault was trusted")
    return content


def _file_set(digests: Mapping[str, str], refused: list[str]) -> FileSet:
    total = hashlib.sha256()
    for name, digest in sorted(digests.items()):
        total.update(f"{len(os.fsencode(name))}:".encode() + os.fsencode(name) + digest.encode())
    return FileSet(digest=total.hexdigest(), files=digests, refused=tuple(sorted(refused)))


def _found(
    folder: Place, entries_of: Entries, *, max_files: int, max_file_bytes: int
) -> FoundFiles:
    stamps: list[Stamp] = []
    refused: list[str] = []
    total = 0
    for name, entry in islice(entries_of(folder.path, refused), max_files + 1):
        stamp = _stamp(name, entry)
        if stamp is None or stamp[1] > max_file_bytes:
            refused.append(name)
            continue
        stamps.append(stamp)
        total += stamp[1]
    if len(stamps) > max_files or total > MAX_BYTES:
        refused.append(f"more than {max_files:,} files or {MAX_BYTES >> 20} MiB")
        stamps.clear()
    return FoundFiles(folder=folder, stamps=tuple(sorted(stamps)), refused=tuple(sorted(refused)))


def _stamp(name: str, entry: Entry) -> Stamp | None:
    """The stamp of a plain file; `None` for anything else."""
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return name, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _entries_below(folder: Path, refused: list[str]) -> Iterator[tuple[str, Entry]]:
    pending = [(folder, "")]
    while pending:
        inner, prefix = pending.pop()
        for entry in _listed(inner, refused, prefix or "."):
            name = f"{prefix}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                pending.append((Path(entry.path), f"{name}/"))
            elif not _is_byte_code(inner.name, entry):
                yield name, entry


def _role_entries(folder: Path, refused: list[str]) -> Iterator[tuple[str, Entry]]:
    for entry in _listed(folder, refused, "."):
        if entry.name.endswith(".toml"):
            yield entry.name, entry
    if "." in refused:
        return
    for entry in _listed(folder / TEMPLATES_FOLDER, refused, TEMPLATES_FOLDER):
        yield f"{TEMPLATES_FOLDER}/{entry.name}", entry


def _is_byte_code(folder: str, entry: Entry) -> bool:
    """True for Python's byte code; our loader reads sources only."""
    is_named_so = folder == _BYTE_CODE_FOLDER and entry.name.endswith(_BYTE_CODE_SUFFIXES)
    return is_named_so and entry.is_file(follow_symlinks=False)


def _listed(folder: Path, refused: list[str], name: str) -> list[Entry]:
    """The entries of a folder, sorted; links and unreadable folders are refused."""
    try:
        if leads_elsewhere(folder.lstat()):
            refused.append(name)
            return []
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError:
        refused.append(name)
        return []
