"""Records the decisions of each turn, and stores its receipt when the turn is over."""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from cachetools import LRUCache

from smart_context.base.errors import SmartContextError
from smart_context.base.times import utc_stamp
from smart_context.base.values import JsonObject
from smart_context.chat.messages import ChatId
from smart_context.host.events.events import Emit, Event
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
    sent_request,
    stored_request,
)
from smart_context.plugin.receipts.spent import BeforeTurn
from smart_context.plugin.receipts.stored import MAX_MESSAGES, StoredReceipts
from smart_context.plugin.selection.decision import ChatView, Decision
from smart_context.plugin.selection.last_request import LastRequest
from smart_context.plugin.settings import FilterSettings, ModelInUse
from smart_context.storage.ports import Chats

RECEIPT_KEPT: Event[JsonObject] = Event("smart_context.receipt_kept")
"""Event: a turn's receipt is stored; carries `chat_id` and `turn`."""

MAX_RUNNING = 256
"""The maximum number of running turns whose decisions are remembered."""

MAX_CHARACTERS = 8 << 20
"""The maximum characters of all remembered requests; each can be as long as a model's window."""


class FinishedTurn(NamedTuple):
    """The request and receipt of a finished turn."""

    sent: SentRequest
    receipt: Receipt
    last: LastRequest | None  # the request as the next one's cost needs it
    line: str  # the receipt as it is stored
    written: WrittenRows  # its rows, as stored


def _characters(sent: SentRequest) -> int:
    """The size of a request in the cache; at most the whole limit."""
    return min(1 + int(sent.digest.get("characters", 0)), MAX_CHARACTERS)


def _rows_in(written: WrittenRows) -> int:
    """The size of rows in the cache; at most the whole limit."""
    return min(1 + len(written.rows), MAX_MESSAGES)


@dataclass(frozen=True, slots=True)
class RecorderMemory:
    """The plans of running turns, and the last requests of chats with their rows."""

    # By turn id, not in `turn.metadata`, which plugins may assign.
    plans: LRUCache[str, TurnPlan] = field(default_factory=partial(LRUCache, MAX_RUNNING))
    last_requests: LRUCache[ChatId, SentRequest] = field(
        default_factory=partial(LRUCache, MAX_CHARACTERS, _characters)
    )
    written: LRUCache[ChatId, WrittenRows] = field(
        default_factory=partial(LRUCache, MAX_MESSAGES, _rows_in)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptRecorder:
    """Writes the receipts of a person's turns."""

    memory: RecorderMemory
    chats: Chats
    stored: StoredReceipts
    forecasts: Forecasts
    model: ModelInUse
    emit: Emit
    logger: logging.Logger
    clock: Callable[[], float] = time.time

    def decided(
        self, turn: Turn, view: ChatView, decision: Decision, settings: FilterSettings
    ) -> None:
        """Record the decision made at `pipeline.context`."""
        self.memory.plans[turn.id] = TurnPlan(
            view=view,
            decision=decision,
            settings=settings,
            question=turn.question,
            asked_at=self.clock(),
        )

    def state_of(self, turn: Turn) -> FilterState | None:
        """The choices under which a turn's history was decided; `None` if it was not."""
        plan = self.memory.plans.get(turn.id)
        return plan.state if plan else None

    def briefed(self, turn: Turn, system_prompt: str, briefing: Briefing) -> None:
        """Record the briefing added at `pipeline.prompt`, and the system prompt before it."""
        plan = self.memory.plans.get(turn.id)
        if plan is not None:
            self.memory.plans[turn.id] = replace(plan, system=system_prompt, briefing=briefing)

    async def count(self, turn: Turn) -> None:
        """Count tokens while the model answers, so that the end of the turn need not wait."""
        plan = self.memory.plans.get(turn.id)
        if plan is not None:
            await self.forecasts.with_costs(plan.view, plan.decision)

    async def store(self, turn: Turn) -> None:
        """Store the receipt of a finished turn; a failed write is only logged.

        A turn that was aborted before it sent anything has no receipt.
        """
        plan = self.memory.plans.pop(turn.id, None)
        is_passed_on = plan is None and turn.client is not None
        if (plan is None and not is_passed_on) or (turn.aborted and not turn.sent):
            return
        made = await self.made(turn, plan)
        if made.sent.messages:
            self.memory.last_requests[turn.chat_id] = made.sent
            self.memory.written[turn.chat_id] = made.written
        # An aside often comes before the first turn, which creates the chat.
        if is_passed_on or await self.chats.exists(turn.chat_id):
            await self.keep(turn.chat_id, made.receipt, made.last, made.line)

    async def keep(
        self, chat_id: ChatId, receipt: Receipt, last: LastRequest | None, line: str = ""
    ) -> None:
        """Store a receipt; see `StoredReceipts.add`. A failed write is only logged."""
        try:
            await self.stored.add(chat_id, receipt, last, line)
            self.emit(RECEIPT_KEPT, {"chat_id": chat_id, "turn": receipt.turn})
        except SmartContextError as error:
            self.logger.warning("the receipt of turn %s is not stored: %s", receipt.turn, error)

    async def made(self, turn: Turn, plan: TurnPlan | None) -> FinishedTurn:
        """The request and receipt of a finished turn.

        Args:
            plan: The turn's plan; `None` if another program's request was passed on.
        """
        models = self.model.models()
        name = models.chat.name
        make = await self._maker(turn, plan)
        previous = await self._request_before(turn.chat_id)
        now = self.clock()
        before = BeforeTurn(
            last=await self.stored.last_request(turn.chat_id),
            cache=self.model.cache(turn.client.model if turn.client else ""),
            asked_at=plan.asked_at if plan else now,
            at=utc_stamp(now),
            seconds=round(now - plan.asked_at, 2) if plan else None,
        )

        counted = self.model.counter(name)
        written = self.memory.written.get(turn.chat_id, WrittenRows())

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
        return self.memory.last_requests.get(chat_id) or await self.stored.newest(chat_id)
