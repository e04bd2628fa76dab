"""Stores the receipts of chats, and caches values read from them."""

import asyncio
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import TypeVar

from cachetools import LRUCache

from smart_context.base.errors import StoreFailed
from smart_context.base.lookups import Lookups
from smart_context.base.values import JsonObject
from smart_context.chat.messages import ChatId
from smart_context.plugin.receipts.receipt import (
    Receipt,
    client_fields,
)
from smart_context.plugin.receipts.spent import TurnCost, last_request_of
from smart_context.plugin.selection.last_request import LastRequest
from smart_context.storage.ports import Limits, Log, Logs, Revision

MAX_TURNS = 200
MAX_CHATS = 8
"""The maximum number of chats whose last client fields are remembered."""

MAX_MESSAGES = 80_000
"""The maximum number of messages in all last requests that are remembered."""

MAX_ASIDES = 20
"""The maximum number of newest receipts in which the last request is searched."""

MAX_SPENT = 4_096
"""The maximum number of chats whose spent tokens are remembered."""

LIMITS = Limits(lines=MAX_TURNS, slack=50, bytes=32 << 20)

MOST_LINES = 1_000
"""The number of a log's newest lines that are read: four times as many as this program keeps."""

T = TypeVar("T")
_Kept = LRUCache[ChatId, tuple[Revision | None, T]]
"""Values read from chats' logs, each with the log's revision at that time."""

_TEXT = r'("(?:[^"\\]|\\.)*")'
_NAMES = re.compile(
    rf'\{{"version":1,"turn":{_TEXT},"question":{_TEXT},"answer":{_TEXT},'.encode(), re.DOTALL
)
"""The beginning of each line; see `Receipt.to_line`."""


class ReceiptMemory:
    """What was read from the logs of receipts, and which logs can't be read."""

    def __init__(self) -> None:
        self.client_fields: _Kept[JsonObject] = LRUCache(MAX_CHATS)
        self.last: _Kept[LastRequest | None] = LRUCache(MAX_MESSAGES, _messages_in)
        self.is_current: Lookups[ChatId, bool] = Lookups()
        self.spent: _Kept[tuple[TurnCost, ...]] = LRUCache(MAX_SPENT)
        self.unreadable: set[ChatId] = set()


class StoredReceipts:
    """Stores the receipts of chats.

    If storage fails, methods that return or add receipts raise `StoreFailed`, and stored receipts
    stay intact. Values derived from receipts count as unknown then, which is logged.
    """

    def __init__(
        self, logs: Logs, logger: logging.Logger, memory: ReceiptMemory | None = None
    ) -> None:
        self._logs = logs
        self._logger = logger
        self._memory = memory or ReceiptMemory()

    async def spent(self, chat_id: ChatId) -> tuple[TurnCost, ...]:
        """The tokens of each turn, newest first; read again only if the log has changed."""
        return await self._current(
            self._memory.spent,
            chat_id,
            lambda newest: tuple(filter(None, map(TurnCost.of, islice(newest, MAX_TURNS)))),
            unknown=(),
        )

    async def add(
        self, chat_id: ChatId, receipt: Receipt, last: LastRequest | None, line: str = ""
    ) -> None:
        """Append a receipt; the newest 200 turns and 32 MiB are kept.

        Args:
            last: The `last_request_of` the receipt.
            line: The receipt's `to_line`, if it is made already.
        """
        line = line or await asyncio.to_thread(receipt.to_line)
        revision = await self._of(chat_id).append(line.encode("utf-8", "surrogatepass"))
        self._memory.last.pop(chat_id, None)
        if last:
            self._memory.last[chat_id] = revision, last
        if receipt.kind == "turn":
            self._memory.client_fields[chat_id] = revision, client_fields(receipt)

    async def last_request(self, chat_id: ChatId) -> LastRequest | None:
        """The chat's request that a provider read last; read again only if the log has changed.

        A request checks for changes at most once a second.
        """
        if (known := self._memory.last.get(chat_id)) and self._memory.is_current.get(chat_id):
            return known[1]
        last = await self._current(
            self._memory.last,
            chat_id,
            lambda newest: next(
                filter(None, map(last_request_of, islice(newest, MAX_ASIDES))), None
            ),
            unknown=None,
        )
        self._memory.is_current.keep(chat_id, value=True)
        return last

    async def topics(self, chat_id: ChatId) -> frozenset[str]:
        """The labels that were picked when one of the messages with a receipt was sent."""
        try:
            labels = [each.settings.get("topics", ()) for each in await self.all(chat_id)]
        except StoreFailed as error:
            self._warn(chat_id, error)
            return frozenset()
        return frozenset(label for label in chain(*labels) if isinstance(label, str))

    async def all(self, chat_id: ChatId) -> list[Receipt]:
        """The receipts of a chat, newest first; damaged lines are skipped."""
        lines = await self._newest_lines(chat_id)
        return await asyncio.to_thread(lambda: list(islice(self._parsed(lines), MAX_TURNS)))

    async def newest(self, chat_id: ChatId) -> Receipt | None:
        """A chat's newest receipt; the others are not parsed."""
        lines = await self._newest_lines(chat_id)
        return await asyncio.to_thread(lambda: next(self._parsed(lines), None))

    async def of_answer(self, chat_id: ChatId, answer: str) -> Receipt | None:
        """The receipt of an answer; the others are not parsed."""
        lines = await self._newest_lines(chat_id)
        found = (line for line in lines if answer in next(_named([line]), ()))
        return await asyncio.to_thread(lambda: next(self._parsed(found), None))

    async def named(self, chat_id: ChatId) -> list[tuple[str, str, str]]:
        """The turns with their questions and answers, newest first, without reading the rest."""
        return list(islice(_named(await self._newest_lines(chat_id)), MAX_TURNS))

    async def newest_client_fields(self, chat_id: ChatId) -> JsonObject:
        """The `client_fields` of the newest turn; read again only if the log has changed."""
        return await self._current(
            self._memory.client_fields,
            chat_id,
            lambda newest: next(
                (client_fields(each) for each in newest if each.kind == "turn"), {}
            ),
            unknown={},
        )

    async def _current(
        self, kept: _Kept[T], chat_id: ChatId, read: Callable[[Iterator[Receipt]], T], *, unknown: T
    ) -> T:
        """The value that `read` makes of the receipts, newest first; kept until the log changes."""
        log = self._of(chat_id)
        known = kept.get(chat_id)
        try:
            revision = await log.revision()
            if known is not None and known[0] == revision:
                return known[1]
            lines = await self._newest_lines(chat_id)
        except StoreFailed as error:
            self._warn(chat_id, error)
            return unknown
        found = await asyncio.to_thread(lambda: read(self._parsed(lines)))
        kept[chat_id] = revision, found
        return found

    def _warn(self, chat_id: ChatId, error: StoreFailed) -> None:
        if chat_id not in self._memory.unreadable:
            self._memory.unreadable.add(chat_id)
            self._logger.warning("The receipts of chat %s can't be read: %s", chat_id, error)

    def _of(self, chat_id: ChatId) -> Log:
        return self._logs.beside(chat_id, "receipts", LIMITS)

    async def _newest_lines(self, chat_id: ChatId) -> list[bytes]:
        """The newest lines of a chat's log, newest first."""
        lines = await self._of(chat_id).lines()
        return lines[: -MOST_LINES - 1 : -1]

    def _parsed(self, lines: Iterable[bytes]) -> Iterator[Receipt]:
        """The receipts of lines; damaged ones are skipped, and the first is logged."""
        is_logged = False
        for line in lines:
            try:
                receipt = Receipt.from_line(line.decode("utf-8", "surrogatepass"))
            except (ValueError, RecursionError) as error:
                if not is_logged:
                    self._logger.warning("a damaged receipt is skipped: %s", error)
                is_logged = True
            else:
                yield receipt


def _messages_in(kept: tuple[Revision | None, LastRequest | None]) -> int:
    """The size of a last request in the cache, in messages; at most the whole limit."""
    return 1 if kept[1] is None else min(1 + len(kept[1].tokens), MAX_MESSAGES)


def _named(lines: Iterable[bytes]) -> Iterator[tuple[str, str, str]]:
    for line in lines:
        if found := _NAMES.match(line):
            turn, question, answer = (json.loads(name) for name in found.groups())
            yield turn, question, answer
