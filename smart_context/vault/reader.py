"""Guarded reads of files that a model asked for or the user included."""

import asyncio
import os
import posixpath
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from smart_context.vault.guarded.files import MAX_TEXT_BYTES, FileText, Unreadable, read_text
from smart_context.vault.guarded.paths import as_typed, is_inside
from smart_context.vault.match import build_matcher


async def read_requested_files(
    file_paths: Iterable[str | Path] | None,
    read_files: dict[str, str],
    dir: str | Path | None = ".",  # noqa: A002 — the contract's name
    filter: str | None = None,  # noqa: A002 — the contract's name
    max_files: int | None = None,
    max_file_size: int | None = None,
    root: str | Path | None = None,
) -> None:
    """Read files that a model asked for into `read_files`; never raises.

    Args:
        file_paths: Absolute, or relative to `dir`. Does nothing for `None` or a bare string.
        read_files: Filled in place. Maps the absolute, normalised path (links not followed) to
            the text, or to the reason in brackets why there is none.
        dir: The folder of relative paths; `None` or empty: the working directory.
        filter: A glob for base names; files that don't match are skipped.
        max_files: Stop when `read_files` has this many entries, reasons included.
        max_file_size: In bytes; a larger file is not read, and the reason is noted.
        root: If given, a path that leads outside of it is not read, and the reason is noted.
    """
    guard = _Guard(Path(dir or "."), None if root is None else Path(root), max_file_size)
    matches = build_matcher(filter)
    for requested in _paths(file_paths):
        if max_files is not None and len(read_files) >= max_files:
            break
        full_path = guard.resolve(requested)
        if full_path in read_files or not matches(_name_of(requested)):
            continue
        read_files[full_path] = await asyncio.to_thread(guard.text_or_note, full_path)


async def read_include_files(
    include_paths: Iterable[str | Path] | None,
    read_files: dict[str, str],
    dir: str | Path | None = ".",  # noqa: A002 — the contract's name
    max_file_size: int | None = None,
    root: str | Path | None = None,
) -> None:
    """Read files that the user included, any number of them, with any name."""
    await read_requested_files(
        include_paths, read_files, dir, max_file_size=max_file_size, root=root
    )


@dataclass(frozen=True, slots=True)
class _Guard:
    folder: Path
    root: Path | None
    max_bytes: int | None

    def resolve(self, requested: str) -> str:
        """The path as Node's `resolve` gives it: unlike POSIX, a leading `//` is `/`."""
        full_path = os.path.abspath(os.path.join(self.folder, requested))  # noqa: PTH100, PTH118 — links are not followed
        return full_path[1:] if full_path.startswith("//") and os.sep == "/" else full_path

    def text_or_note(self, full_path: str) -> str:
        if self.root is not None and not is_inside(self.root, Path(full_path)):
            return "[Error reading file: the path leads outside of the folder that may be read]"
        limit = MAX_TEXT_BYTES if self.max_bytes is None else min(self.max_bytes, MAX_TEXT_BYTES)
        outcome = self._read(full_path, limit)
        if isinstance(outcome, FileText):
            return outcome.text
        if (
            outcome.size is not None
            and self.max_bytes is not None
            and outcome.size > self.max_bytes
        ):
            return f"[Skipped: file size {outcome.size} bytes exceeds maxFileSize {self.max_bytes}]"
        return f"[Error reading file: {outcome.reason}]"

    def _read(self, full_path: str, limit: int) -> FileText | Unreadable:
        """The outcome of reading the file; links were checked before."""
        try:
            real = os.path.realpath(full_path)
            top = os.path.dirname(real) if self.root is None else os.path.realpath(self.root)  # noqa: PTH120 — a string is wanted
            return read_text(top, os.path.relpath(real, top).replace(os.sep, "/"), max_bytes=limit)
        except (OSError, ValueError):
            return Unreadable("not a possible file name")


def _name_of(requested: str) -> str:
    return posixpath.basename(as_typed(requested).rstrip("/"))


def _paths(given: object) -> list[str]:
    """The entries that are paths: a model may put anything into a list."""
    if not isinstance(given, Iterable) or isinstance(given, str | bytes):
        return []
    return [str(path) for path in given if isinstance(path, str | Path)]
