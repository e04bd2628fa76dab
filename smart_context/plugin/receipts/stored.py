"""The stored receipts: a line per turn beside each chat, of which the newest are kept."""

import asyncio
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

from cachetools import LRUCache

from smart_context.base.values import JsonObject
from smart_context.chat.messages import ChatId
from smart_context.plugin.receipts.receipt import Receipt
from smart_context.plugin.receipts.requests import client_fields
from smart_context.plugin.receipts.spent import Spent, last_request_of
from smart_context.plugin.selection.last_request import LastRequest
from smart_context.storage.ports import Limits, Log, Logs, Revision

MAX_TURNS = 200
MAX_CHATS = 8
"""The maximum number of chats whose newest fields are remembered."""

MAX_ASIDES = 20
"""The maximum number of newer receipts among which the last request is searched."""

MAX_SPENT = 4_096
"""The maximum number of chats whose requests' sums are remembered."""

LIMITS = Limits(lines=MAX_TURNS, slack=50, bytes=32 << 20)

T = TypeVar("T")
_Kept = LRUCache[ChatId, tuple[Revision | None, T]]
"""What was last read of chats' logs, and the state of the log then."""

_TEXT = r'("(?:[^"\\]|\\.)*")'
_NAMES = re.compile(
    rf'\{{"version":1,"turn":{_TEXT},"question":{_TEXT},"answer":{_TEXT},'.encode(), re.DOTALL
)
"""How each line begins; see `Receipt.to_line`."""


class StoredReceipts:
    """Stores the receipts of chats."""

    def __init__(self, logs: Logs, logger: logging.Logger) -> None:
        self._logs = logs
        self._logger = logger
        self._client_fields: _Kept[JsonObject] = LRUCache(MAX_CHATS)
        self._last: _Kept[LastRequest | None] = LRUCache(MAX_CHATS)
        self._spent: _Kept[tuple[Spent, ...]] = LRUCache(MAX_SPENT)

    async def spent(self, chat_id: ChatId) -> tuple[Spent, ...]:
        """What each turn took, newest first; read again only when the log has changed.

        Raises:
            StoreFailed: If storage refuses.
        """
        return await self._current(
            self._spent,
            chat_id,
            lambda newest: tuple(filter(None, map(Spent.of, islice(newest, MAX_TURNS)))),
        )

    async def add(self, chat_id: ChatId, receipt: Receipt, last: LastRequest | None) -> None:
        """Append a receipt; the newest 200 turns and 32 MiB are kept.

        Args:
            last: Its `last_request_of`.

        Raises:
            StoreFailed: If storage refuses; the earlier receipts are intact.
        """
        log = self._of(chat_id)
        line = await asyncio.to_thread(lambda: receipt.to_line().encode("utf-8", "surrogatepass"))
        await log.append(line)
        revision = await log.revision()
        if last:
            self._last[chat_id] = revision, last
        if receipt.kind == "turn":
            self._client_fields[chat_id] = revision, client_fields(receipt)

    async def last_request(self, chat_id: ChatId) -> LastRequest | None:
        """What a provider read last of a chat; read again only when the log has changed.

        Raises:
            StoreFailed: If storage refuses.
        """
        return await self._current(
            self._last,
            chat_id,
            lambda newest: next(
                filter(None, map(last_request_of, islice(newest, MAX_ASIDES))), None
            ),
        )

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
            StoreFailed: If storage refuses.
        """
        lines = await self._of(chat_id).lines()
        return await asyncio.to_thread(
            lambda: list(islice(self._parsed(reversed(lines)), MAX_TURNS))
        )

    async def newest(self, chat_id: ChatId) -> Receipt | None:
        """A chat's newest receipt; the others are not parsed.

        Raises:
            StoreFailed: If storage refuses.
        """
        lines = await self._of(chat_id).lines()
        return await asyncio.to_thread(lambda: next(self._parsed(reversed(lines)), None))

    async def of_answer(self, chat_id: ChatId, answer: str) -> Receipt | None:
        """The receipt of an answer; the others are not parsed.

        Raises:
            StoreFailed: If storage refuses.
        """
        lines = await self._of(chat_id).lines()
        found = (line for line in reversed(lines) if answer in next(_named([line]), ()))
        return await asyncio.to_thread(lambda: next(self._parsed(found), None))

    async def named(self, chat_id: ChatId) -> list[tuple[str, str, str]]:
        """The turns with their questions and answers, newest first, without reading the rest.

        Raises:
            StoreFailed: If storage refuses.
        """
        lines = await self._of(chat_id).lines()
        return list(islice(_named(reversed(lines)), MAX_TURNS))

    async def newest_client_fields(self, chat_id: ChatId) -> JsonObject:
        """See `client_fields`, of the newest turn; read again only when the log has changed.

        Raises:
            StoreFailed: If storage refuses.
        """
        return await self._current(
            self._client_fields,
            chat_id,
            lambda newest: next(
                (client_fields(each) for each in newest if each.kind == "turn"), {}
            ),
        )

    async def _current(
        self, kept: _Kept[T], chat_id: ChatId, read: Callable[[Iterator[Receipt]], T]
    ) -> T:
        """What `read` makes of a chat's receipts, newest first; again when the log has changed."""
        log = self._of(chat_id)
        revision = await log.revision()
        known = kept.get(chat_id)
        if known is None or known[0] != revision:
            lines = await log.lines()
            known = revision, await asyncio.to_thread(lambda: read(self._parsed(reversed(lines))))
            kept[chat_id] = known
        return known[1]

    def _of(self, chat_id: ChatId) -> Log:
        return self._logs.beside(chat_id, "receipts", LIMITS)

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
