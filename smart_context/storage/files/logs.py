"""Logs on disk: append-only files with a line for each entry."""

import asyncio
import io
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from weakref import WeakValueDictionary

from cachetools import LRUCache

from smart_context.base.disk.files import (
    Signature,
    atomic_write,
    open_file,
    read_file,
    signature_of,
    signature_of_open,
)
from smart_context.base.disk.places import Place, folder_of
from smart_context.base.errors import StoreFailed
from smart_context.base.threads import run_uncancelled
from smart_context.chat.ids import check_chat_id, sidecar_name
from smart_context.chat.messages import ChatId
from smart_context.storage.ports import Limits, Revision

_LEAST_LINE = 400
"""A file with fewer bytes for each allowed line is not full, so its lines are not counted."""

_COUNTED = 64
"""The most files whose number of lines is remembered."""


class FileLogs:
    """`<chat_id>.<name>.jsonl` and `<kind>/<key>.jsonl` in a folder; satisfies `Logs`."""

    def __init__(self, folder: Path | Place) -> None:
        self._folder = folder_of(folder)
        self._locks: WeakValueDictionary[Place, asyncio.Lock] = WeakValueDictionary()
        self._counts = _LineCounts()

    def beside(self, chat_id: ChatId, name: str, limits: Limits) -> "FileLog":
        place = self._folder / sidecar_name(check_chat_id(chat_id), f"{name}.jsonl")
        return FileLog(place, self._lock(place), self._counts, limits)

    def of_vault(self, kind: str, key: str) -> "FileLog":
        place = self._folder / f"{kind}/{key}.jsonl"
        return FileLog(place, self._lock(place), self._counts)

    def _lock(self, place: Place) -> asyncio.Lock:
        return self._locks.setdefault(place, asyncio.Lock())


class FileLog:
    """One file; satisfies `Log`.

    Args:
        lock: Held while the file is written.
        counts: The number of lines of files.
        limits: The most that is kept of the log; everything by default.
    """

    def __init__(
        self, place: Place, lock: asyncio.Lock, counts: "_LineCounts", limits: Limits | None = None
    ) -> None:
        self._place = place
        self._lock = lock
        self._counts = counts
        self._limits = limits

    async def append(self, *lines: bytes) -> Revision | None:
        if not lines:
            return await self.revision()
        async with self._lock:
            return await run_uncancelled(
                lambda: self._append(b"".join(line + b"\n" for line in lines), len(lines))
            )

    async def revision(self) -> Revision | None:
        """The state of the file."""
        return await run_uncancelled(lambda: signature_of(self._place))

    async def lines(self) -> list[bytes]:
        """The kept lines, oldest first, including one that a crash cut short."""
        return await run_uncancelled(self._lines)

    async def since(self, place: int) -> tuple[list[bytes], int]:
        """The whole lines that were added since a place, and the place to go on from."""
        return await run_uncancelled(lambda: self._since(place))

    def _append(self, content: bytes, added: int) -> Signature:
        try:
            if self._limits and self._is_full(self._limits, len(content)):
                lines = [*self._lines(), *content.splitlines()]
                return atomic_write(self._place, _newest(lines, self._limits))
            signature = _append(self._place, content)
        except OSError as error:
            reason = error.strerror or str(error)
            raise StoreFailed(
                f"{self._place} could not be written: {reason}. The chat is not affected."
            ) from error
        self._counts.grown(self._place, signature.size, len(content), added)
        return signature

    def _is_full(self, limits: Limits, added: int) -> bool:
        found = signature_of(self._place)
        size = found.size if found else 0
        if size + added > limits.bytes:
            return True
        return size >= limits.lines * _LEAST_LINE and (
            self._counts.of(self._place, size) >= limits.lines + limits.slack
        )

    def _lines(self) -> list[bytes]:
        most = {} if self._limits is None else {"max_bytes": 2 * self._limits.bytes}
        found = read_file(self._place, **most)
        return [line for line in found[1].split(b"\n") if line.strip()] if found else []

    def _since(self, place: int) -> tuple[list[bytes], int]:
        try:
            descriptor = open_file(self._place, os.O_RDONLY)
        except FileNotFoundError:
            return [], place
        except OSError as error:
            raise StoreFailed(
                f"{self._place} could not be read: {error.strerror or error}."
            ) from error
        with os.fdopen(descriptor, "rb") as file:
            file.seek(place)
            added = file.read()
        whole = added[: added.rfind(b"\n") + 1]
        return [line for line in whole.split(b"\n") if line.strip()], place + len(whole)


class _LineCounts:
    """Remembers the number of lines of logs for their size, so that long ones are read once."""

    def __init__(self) -> None:
        self._known: LRUCache[Place, tuple[int, int]] = LRUCache(_COUNTED)
        self._lock = threading.Lock()

    def of(self, place: Place, size: int) -> int:
        """The lines of a file of this size; counted if another program has written it."""
        with self._lock:
            known = self._known.get(place)
        if known is None or known[0] != size:
            known = size, _count(place)
            with self._lock:
                self._known[place] = known
        return known[1]

    def grown(self, place: Place, size: int, by: int, lines: int) -> None:
        """Note that a file has grown to `size`, by these bytes and lines."""
        with self._lock:
            known = self._known.get(place)
            if known is not None and known[0] == size - by:
                self._known[place] = size, known[1] + lines


def _append(place: Place, content: bytes) -> Signature:
    """Append to a file, and return its new state."""
    descriptor = open_file(place, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    with os.fdopen(descriptor, "r+b", buffering=0) as file:
        # End a line that a crash cut short, so that it does not damage the next one.
        rest = content if _ends_a_line(file) else b"\n" + content
        while rest:
            rest = rest[file.write(rest) :]
        return signature_of_open(file.fileno())


def _ends_a_line(file: io.FileIO) -> bool:
    if not file.seek(0, os.SEEK_END):
        return True
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


def _count(place: Place) -> int:
    with os.fdopen(open_file(place, os.O_RDONLY), "rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


def _newest(lines: Sequence[bytes], limits: Limits) -> bytes:
    """The newest lines that fill at most three quarters of the file, to leave room for more."""
    kept: list[bytes] = []
    room = limits.bytes * 3 // 4
    for line in reversed(lines[-limits.lines :]):
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return b"".join(line + b"\n" for line in reversed(kept))
