"""Receipts on disk: one line a turn beside the chat, appended; the oldest go when it grows."""

import asyncio
import io
import logging
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from weakref import WeakValueDictionary

from smart_context.chat.messages import ChatId
from smart_context.disk.files import atomic_write, open_file, read_file, signature_of
from smart_context.disk.places import Place
from smart_context.errors import StoreFailed
from smart_context.plugin.receipts.receipt import Receipt

RECEIPTS_SUFFIX = "receipts.jsonl"
MAX_TURNS = 200
MAX_BYTES = 32 * 1024 * 1024
SLACK_TURNS = 50
"""So many turns more may stand in the file, so that it is not written anew each time."""


class ReceiptFiles:
    """Keeps the receipts of chats.

    Args:
        path_of: Names a chat's file.
        logger: For what people should know.
    """

    def __init__(self, path_of: Callable[[ChatId], Path | Place], logger: logging.Logger) -> None:
        self._path_of = path_of
        self._logger = logger
        self._locks: WeakValueDictionary[ChatId, asyncio.Lock] = WeakValueDictionary()

    async def add(self, chat_id: ChatId, receipt: Receipt) -> None:
        """Append a receipt; the newest 200 turns and 32 MiB are kept.

        Raises:
            StoreFailed: The disk refuses; the former receipts are intact.
        """
        line = receipt.to_line().encode("utf-8", "surrogatepass") + b"\n"
        path = self._path_of(chat_id)
        lock = self._locks.setdefault(chat_id, asyncio.Lock())
        async with lock:
            await asyncio.to_thread(_add, path, line)

    async def all(self, chat_id: ChatId) -> list[Receipt]:
        """The receipts of a chat, newest first; damaged lines are passed over.

        Raises:
            StoreFailed: The disk refuses.
        """
        path = self._path_of(chat_id)
        return await asyncio.to_thread(lambda: list(self._parsed(_lines(path))))

    def _parsed(self, lines: list[bytes]) -> Iterable[Receipt]:
        found = 0
        for line in reversed(lines):
            try:
                receipt = Receipt.from_line(line.decode("utf-8", "surrogatepass"))
            except (ValueError, RecursionError) as error:
                self._logger.warning("a receipt is damaged and passed over: %s", error)
                continue
            yield receipt
            found += 1
            if found == MAX_TURNS:
                return


def _lines(path: Path | Place) -> list[bytes]:
    found = read_file(path, max_bytes=2 * MAX_BYTES)
    return [line for line in found[1].split(b"\n") if line.strip()] if found else []


def _add(path: Path | Place, line: bytes) -> None:
    found = signature_of(path)
    size = found.size if found else 0
    try:
        if size + len(line) > MAX_BYTES or _count(path, size) >= MAX_TURNS + SLACK_TURNS:
            atomic_write(path, _newest([*_lines(path), line.rstrip(b"\n")]))
        else:
            _append(path, line)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreFailed(
            f"{path} could not be written: {reason}. The chat is not affected."
        ) from error


def _append(path: Path | Place, line: bytes) -> None:
    descriptor = open_file(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    with os.fdopen(descriptor, "r+b", buffering=0) as file:
        # What a crash cut short stays a line of its own, so that it takes no other with it.
        rest = line if _ends_a_line(file) else b"\n" + line
        while rest:
            rest = rest[file.write(rest) :]


def _ends_a_line(file: io.FileIO) -> bool:
    if not file.seek(0, os.SEEK_END):
        return True
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


def _count(path: Path | Place, size: int) -> int:
    """How many lines there are; a file too small for as many is not looked at."""
    least_line = 400
    if size < MAX_TURNS * least_line:
        return 0
    with os.fdopen(open_file(path, os.O_RDONLY), "rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


def _newest(lines: list[bytes]) -> bytes:
    """The newest lines that leave a quarter of the room for those to come."""
    kept: list[bytes] = []
    room = MAX_BYTES * 3 // 4
    for line in reversed(lines[-MAX_TURNS:]):
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return b"".join(line + b"\n" for line in reversed(kept))
