"""Receipts on disk: a file next to each chat with a line per turn; the oldest are dropped."""

import asyncio
import io
import json
import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from weakref import WeakValueDictionary

from cachetools import LRUCache

from smart_context.base.disk.files import atomic_write, open_file, read_file, signature_of
from smart_context.base.disk.places import Place
from smart_context.base.errors import StoreFailed
from smart_context.base.values import JsonObject
from smart_context.chat.messages import ChatId
from smart_context.plugin.receipts.receipt import Receipt
from smart_context.plugin.receipts.requests import client_fields

MAX_TURNS = 200
MAX_BYTES = 32 * 1024 * 1024
MAX_CHATS = 8
"""The maximum number of chats whose newest fields are remembered."""

SLACK_TURNS = 50
"""Extra turns kept before the file is compacted, so that most turns only append."""

_TEXT = r'("(?:[^"\\]|\\.)*")'
_NAMES = re.compile(
    rf'\{{"version":1,"turn":{_TEXT},"question":{_TEXT},"answer":{_TEXT},'.encode(), re.DOTALL
)
"""How each line begins; see `Receipt.to_line`."""


class ReceiptFiles:
    """Stores the receipts of chats.

    Args:
        path_of: Gives the place of a chat's file.
        logger: For warnings.
    """

    def __init__(self, path_of: Callable[[ChatId], Path | Place], logger: logging.Logger) -> None:
        self._path_of = path_of
        self._logger = logger
        self._locks: WeakValueDictionary[ChatId, asyncio.Lock] = WeakValueDictionary()
        self._client_fields: LRUCache[str, tuple[object, JsonObject]] = LRUCache(MAX_CHATS)

    async def add(self, chat_id: ChatId, receipt: Receipt) -> None:
        """Append a receipt; the newest 200 turns and 32 MiB are kept.

        Raises:
            StoreFailed: If the disk refuses; the earlier receipts are intact.
        """
        line = receipt.to_line().encode("utf-8", "surrogatepass") + b"\n"
        path = self._path_of(chat_id)
        lock = self._locks.setdefault(chat_id, asyncio.Lock())
        async with lock:
            await asyncio.to_thread(_add, path, line)

    async def topics(self, chat_id: ChatId) -> frozenset[str]:
        """The labels that were picked when one of the messages with a receipt was sent."""
        found = await self.all(chat_id)
        return frozenset(
            label
            for receipt in found
            for label in receipt.settings.get("topics", ())
            if isinstance(label, str)
        )

    async def all(self, chat_id: ChatId) -> list[Receipt]:
        """The receipts of a chat, newest first; damaged lines are skipped.

        Raises:
            StoreFailed: If the disk refuses.
        """
        path = self._path_of(chat_id)
        return await asyncio.to_thread(
            lambda: list(islice(self._parsed(reversed(_lines(path))), MAX_TURNS))
        )

    async def named(self, chat_id: ChatId) -> list[tuple[str, str, str]]:
        """The turns with their questions and answers, newest first, without reading the rest.

        Raises:
            StoreFailed: If the disk refuses.
        """
        path = self._path_of(chat_id)
        lines = await asyncio.to_thread(_lines, path)
        return list(islice(_named(reversed(lines)), MAX_TURNS))

    async def newest_client_fields(self, chat_id: ChatId) -> JsonObject:
        """See `client_fields`, of the newest turn; read again only when the file has changed.

        Raises:
            StoreFailed: If the disk refuses.
        """
        return await asyncio.to_thread(self._newest_client_fields, self._path_of(chat_id))

    def _newest_client_fields(self, path: Path | Place) -> JsonObject:
        signature = signature_of(path)
        known = self._client_fields.get(str(path))
        if known is None or known[0] != signature:
            turns = (each for each in self._parsed(reversed(_lines(path))) if each.kind == "turn")
            newest = next(turns, None)
            known = signature, client_fields(newest) if newest else {}
            self._client_fields[str(path)] = known
        return known[1]

    def _parsed(self, lines: Iterable[bytes]) -> Iterator[Receipt]:
        for line in lines:
            try:
                receipt = Receipt.from_line(line.decode("utf-8", "surrogatepass"))
            except (ValueError, RecursionError) as error:
                self._logger.warning("a damaged receipt is skipped: %s", error)
            else:
                yield receipt


def _named(lines: Iterable[bytes]) -> Iterator[tuple[str, str, str]]:
    for line in lines:
        if found := _NAMES.match(line):
            turn, question, answer = (json.loads(name) for name in found.groups())
            yield turn, question, answer


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
        # End a line that a crash cut short, so that it does not damage the next one.
        rest = line if _ends_a_line(file) else b"\n" + line
        while rest:
            rest = rest[file.write(rest) :]


def _ends_a_line(file: io.FileIO) -> bool:
    if not file.seek(0, os.SEEK_END):
        return True
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


def _count(path: Path | Place, size: int) -> int:
    """The number of lines; 0 for a file that is too small to be full."""
    least_line = 400
    if size < MAX_TURNS * least_line:
        return 0
    with os.fdopen(open_file(path, os.O_RDONLY), "rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


def _newest(lines: list[bytes]) -> bytes:
    """The newest lines that fill at most three quarters of the file, to leave room for more."""
    kept: list[bytes] = []
    room = MAX_BYTES * 3 // 4
    for line in reversed(lines[-MAX_TURNS:]):
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return b"".join(line + b"\n" for line in reversed(kept))
