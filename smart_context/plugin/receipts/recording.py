"""Records what each turn decides, and stores its receipt when the turn is over."""

import asyncio
import json
import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from typing import NamedTuple, TypeVar

from cachetools import LRUCache

from smart_context.base.errors import SmartContextError, StoreFailed
from smart_context.base.lookups import Lookups
from smart_context.base.times import utc_stamp
from smart_context.base.values import JsonObject
from smart_context.chat.messages import ChatId
from smart_context.host.turn import Turn
from smart_context.plugin.briefing.briefing import Briefing
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.forecast.forecasts import Forecasts
from smart_context.plugin.forecast.plan import TurnPlan
from smart_context.plugin.receipts.making import receipt_of_passed_on, receipt_of_turn
from smart_context.plugin.receipts.receipt import (
    Receipt,
    SentRequest,
    WrittenRows,
    client_fields,
    sent_request,
    stored_request,
)
from smart_context.plugin.receipts.spent import Before, Spent, last_request_of
from smart_context.plugin.selection.last_request import LastRequest
from smart_context.plugin.selection.selector import ChatView, Decision
from smart_context.plugin.settings import FilterSettings, ModelInUse
from smart_context.storage.ports import Chats, Limits, Log, Logs, Revision

MAX_TURNS = 200
MAX_CHATS = 8
"""The maximum number of chats whose newest fields are remembered."""

MAX_MESSAGES = 80_000
"""The maximum number of messages in all last requests that are remembered."""

MAX_ASIDES = 20
"""The maximum number of newer receipts among which the last request is searched."""

MAX_SPENT = 4_096
"""The maximum number of chats whose requests' sums are remembered."""

LIMITS = Limits(lines=MAX_TURNS, slack=50, bytes=32 << 20)

MOST_LINES = 1_000
"""How many of a log's newest lines are read: four times as many as this program leaves there."""

T = TypeVar("T")
_Kept = LRUCache[ChatId, tuple[Revision | None, T]]
"""What was last read of chats' logs, and the state of the log then."""

_TEXT = r'("(?:[^"\\]|\\.)*")'
_NAMES = re.compile(
    rf'\{{"version":1,"turn":{_TEXT},"question":{_TEXT},"answer":{_TEXT},'.encode(), re.DOTALL
)
"""How each line begins; see `Receipt.to_line`."""


class StoredReceipts:
    """Stores the receipts of chats.

    If storage refuses, methods that give receipts raise `StoreFailed`, and the earlier receipts are
    intact. What others only want to know of them counts as unknown then, since no choice and no
    turn depends on it; that is logged.
    """

    def __init__(self, logs: Logs, logger: logging.Logger) -> None:
        self._logs = logs
        self._logger = logger
        self._client_fields: _Kept[JsonObject] = LRUCache(MAX_CHATS)
        self._last: _Kept[LastRequest | None] = LRUCache(MAX_MESSAGES, _messages_in)
        self._is_current: Lookups[ChatId, bool] = Lookups()
        self._spent: _Kept[tuple[Spent, ...]] = LRUCache(MAX_SPENT)
        self._unreadable: set[ChatId] = set()

    async def spent(self, chat_id: ChatId) -> tuple[Spent, ...]:
        """What each turn took, newest first; read again only when the log has changed."""
        return await self._current(
            self._spent,
            chat_id,
            lambda newest: tuple(filter(None, map(Spent.of, islice(newest, MAX_TURNS)))),
            unknown=(),
        )

    async def add(
        self, chat_id: ChatId, receipt: Receipt, last: LastRequest | None, line: str = ""
    ) -> None:
        """Append a receipt; the newest 200 turns and 32 MiB are kept.

        Args:
            last: Its `last_request_of`.
            line: Its `to_line`, if that was made already.
        """
        line = line or await asyncio.to_thread(receipt.to_line)
        revision = await self._of(chat_id).append(line.encode("utf-8", "surrogatepass"))
        self._last.pop(chat_id, None)
        if last:
            self._last[chat_id] = revision, last
        if receipt.kind == "turn":
            self._client_fields[chat_id] = revision, client_fields(receipt)

    async def last_request(self, chat_id: ChatId) -> LastRequest | None:
        """What a provider read last of a chat; read again only when the log has changed.

        A request looks once a second at most if it has.
        """
        if (known := self._last.get(chat_id)) and self._is_current.get(chat_id):
            return known[1]
        last = await self._current(
            self._last,
            chat_id,
            lambda newest: next(
                filter(None, map(last_request_of, islice(newest, MAX_ASIDES))), None
            ),
            unknown=None,
        )
        self._is_current.keep(chat_id, value=True)
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
        """See `client_fields`, of the newest turn; read again only when the log has changed."""
        return await self._current(
            self._client_fields,
            chat_id,
            lambda newest: next(
                (client_fields(each) for each in newest if each.kind == "turn"), {}
            ),
            unknown={},
        )

    async def _current(
        self, kept: _Kept[T], chat_id: ChatId, read: Callable[[Iterator[Receipt]], T], *, unknown: T
    ) -> T:
        """What `read` makes of a chat's receipts, newest first; again when the log has changed."""
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
        if chat_id not in self._unreadable:
            self._unreadable.add(chat_id)
            self._logger.warning("The receipts of chat %s can't be read: %s", chat_id, error)

    def _of(self, chat_id: ChatId) -> Log:
        return self._logs.beside(chat_id, "receipts", LIMITS)

    async def _newest_lines(self, chat_id: ChatId) -> list[bytes]:
        """The newest lines of a chat's log, newest first."""
        lines = await self._of(chat_id).lines()
        return lines[: -MOST_LINES - 1 : -1]

    def _parsed(self, lines: Iterable[bytes]) -> Iterator[Receipt]:
        """The receipts of lines; the first of those that are damaged is logged."""
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
    """How much of the limit a last request takes; a very long one takes all of it."""
    return 1 if kept[1] is None else min(1 + len(kept[1].tokens), MAX_MESSAGES)


def _named(lines: Iterable[bytes]) -> Iterator[tuple[str, str, str]]:
    for line in lines:
        if found := _NAMES.match(line):
            turn, question, answer = (json.loads(name) for name in found.groups())
            yield turn, question, answer


RECEIPT_KEPT = "smart_context.receipt_kept"
"""Event: a turn's receipt is stored; carries `chat_id` and `turn`."""

MAX_RUNNING = 256
"""The maximum number of running turns whose decisions are remembered."""

MAX_CHARACTERS = 8 << 20
"""The maximum size of all last requests kept; each can be as long as a model's window."""


class FinishedTurn(NamedTuple):
    """What is known of a turn that is over."""

    sent: SentRequest
    receipt: Receipt
    last: LastRequest | None  # what the receipt tells of the next request
    line: str  # the receipt as it is stored
    written: WrittenRows  # its rows, as stored


def _characters(sent: SentRequest) -> int:
    """How much of the limit a request takes; a very long one takes all of it."""
    return min(1 + int(sent.digest.get("characters", 0)), MAX_CHARACTERS)


def _rows_in(written: WrittenRows) -> int:
    """What rows count; the most leave room for no others."""
    return min(1 + len(written.rows), MAX_MESSAGES)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptRecorder:
    """Writes the receipts of a vault's turns."""

    chats: Chats
    files: StoredReceipts
    forecasts: Forecasts
    model: ModelInUse
    emit: Callable[[str, JsonObject], None]
    logger: logging.Logger
    clock: Callable[[], float] = time.time
    # By turn id, not in `turn.metadata`, which plugins may assign.
    _plans: LRUCache[str, TurnPlan] = field(
        init=False, default_factory=partial(LRUCache, MAX_RUNNING)
    )
    _last_requests: LRUCache[ChatId, SentRequest] = field(
        init=False, default_factory=partial(LRUCache, MAX_CHARACTERS, _characters)
    )
    _written: LRUCache[ChatId, WrittenRows] = field(
        init=False, default_factory=partial(LRUCache, MAX_MESSAGES, _rows_in)
    )

    def decided(
        self, turn: Turn, view: ChatView, decision: Decision, settings: FilterSettings
    ) -> None:
        """Record what was decided at `pipeline.context`."""
        self._plans[turn.id] = TurnPlan(
            view=view,
            decision=decision,
            settings=settings,
            question=turn.question,
            asked_at=self.clock(),
        )

    def state_of(self, turn: Turn) -> FilterState | None:
        """The choices under which a turn's history was decided; `None` if it was not."""
        plan = self._plans.get(turn.id)
        return plan.state if plan else None

    def briefed(self, turn: Turn, system_prompt: str, briefing: Briefing) -> None:
        """Record what is added at `pipeline.prompt`, and the system prompt before it."""
        plan = self._plans.get(turn.id)
        if plan is not None:
            self._plans[turn.id] = replace(plan, system=system_prompt, briefing=briefing)

    async def count(self, turn: Turn) -> None:
        """Count tokens while the model answers, so that nobody waits for them at the end."""
        plan = self._plans.get(turn.id)
        if plan is not None:
            await self.forecasts.with_costs(plan.view, plan.decision)

    async def store(self, turn: Turn) -> None:
        """Store the receipt of a turn that is over; a disk that refuses is only logged.

        A turn that sent nothing has no receipt.
        """
        plan = self._plans.pop(turn.id, None)
        is_passed_on = plan is None and turn.client is not None
        if (plan is None and not is_passed_on) or (turn.aborted and not turn.sent):
            return
        made = await self.made(turn, plan)
        if made.sent.messages:
            self._last_requests[turn.chat_id] = made.sent
            self._written[turn.chat_id] = made.written
        # An aside often comes before the first turn, which makes the chat.
        if is_passed_on or await self.chats.exists(turn.chat_id):
            await self.keep(turn.chat_id, made.receipt, made.last, made.line)

    async def keep(
        self, chat_id: ChatId, receipt: Receipt, last: LastRequest | None, line: str = ""
    ) -> None:
        """Store a receipt; see `StoredReceipts.add`. A disk that refuses is only logged."""
        try:
            await self.files.add(chat_id, receipt, last, line)
            self.emit(RECEIPT_KEPT, {"chat_id": chat_id, "turn": receipt.turn})
        except SmartContextError as error:
            self.logger.warning("the receipt of turn %s is not stored: %s", receipt.turn, error)

    async def made(self, turn: Turn, plan: TurnPlan | None) -> FinishedTurn:
        """The request of a turn that is over, and its receipt.

        Args:
            plan: What it decided; `None` if another program's request was passed on.
        """
        models = self.model.models()
        name = models.chat.name
        make = await self._maker(turn, plan)
        previous = await self._request_before(turn.chat_id)
        now = self.clock()
        before = Before(
            last=await self.files.last_request(turn.chat_id),
            cache=self.model.cache(turn.client.model if turn.client else ""),
            asked_at=plan.asked_at if plan else now,
            at=utc_stamp(now),
            seconds=round(now - plan.asked_at, 2) if plan else None,
        )

        counted = self.model.counter(name)
        written = self._written.get(turn.chat_id, WrittenRows())

        def made() -> FinishedTurn:
            known = previous
            if not isinstance(known, SentRequest):
                known = stored_request(known, counted)
            sent = sent_request(turn.sent, known, counted, turn.added.tools)
            receipt, last = make(
                requests=(known, sent),
                models={"chat": name, "embedding": models.embedder.name},
                before=before,
                count_tokens=counted,
            )
            rows = written.followed_by(receipt.rows)
            return FinishedTurn(sent, receipt, last, receipt.to_line(rows), rows)

        return await asyncio.to_thread(made)

    async def _maker(
        self, turn: Turn, plan: TurnPlan | None
    ) -> Callable[..., tuple[Receipt, LastRequest | None]]:
        """A function that makes the receipt, after the messages' tokens are counted."""
        if plan is None:
            return partial(receipt_of_passed_on, turn)
        plan = replace(
            plan.without(turn.left_out, lacks_attached=turn.lacks_optional_prompt),
            added=turn.added,
            attached=turn.request.attached_text,
        )
        forecast = await self.forecasts.with_costs(plan.view, plan.decision)
        return partial(receipt_of_turn, turn, plan, forecast)

    async def _request_before(self, chat_id: ChatId) -> SentRequest | Receipt | None:
        """The chat's previous request from memory, or its receipt; `None` if unknown."""
        return self._last_requests.get(chat_id) or await self.files.newest(chat_id)
