"""Records what each turn decides, and stores its receipt when the turn is over."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from cachetools import LRUCache

from smart_context.base.errors import SmartContextError
from smart_context.base.times import utc_stamp
from smart_context.base.values import JsonObject
from smart_context.chat.messages import ChatId
from smart_context.host.turn import Turn
from smart_context.llm.models import PromptMessage
from smart_context.llm.tokens import count_tokens
from smart_context.plugin.briefing.briefing import Briefing
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.forecast.forecasts import Forecasts
from smart_context.plugin.model_in_use import ModelInUse
from smart_context.plugin.receipts.making import (
    PendingReceipt,
    receipt_of_passed_on,
    receipt_of_turn,
)
from smart_context.plugin.receipts.receipt import Receipt
from smart_context.plugin.receipts.requests import SentRequest, sent_request
from smart_context.plugin.receipts.spent import Before
from smart_context.plugin.receipts.stored import StoredReceipts
from smart_context.plugin.selection.last_request import LastRequest
from smart_context.plugin.selection.selector import ChatView, Decision
from smart_context.plugin.settings import FilterSettings
from smart_context.storage.ports import Chats

RECEIPT_KEPT = "smart_context.receipt_kept"
"""Event: a turn's receipt is stored; carries `chat_id` and `turn`."""

MAX_TURNS = 256
"""The maximum number of running turns whose decisions are remembered."""

MAX_CHATS = 8
"""The maximum number of last requests kept; each can be as long as a model's window."""


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
    _pending: LRUCache[str, PendingReceipt] = field(
        init=False, default_factory=partial(LRUCache, MAX_TURNS)
    )
    _last_requests: LRUCache[ChatId, SentRequest] = field(
        init=False, default_factory=partial(LRUCache, MAX_CHATS)
    )

    def decided(
        self, turn: Turn, view: ChatView, decision: Decision, settings: FilterSettings
    ) -> None:
        """Record what was decided at `pipeline.context`."""
        self._pending[turn.id] = PendingReceipt(
            view=view, decision=decision, settings=settings, asked_at=self.clock()
        )

    def state_of(self, turn: Turn) -> FilterState | None:
        """The choices under which a turn's history was decided; `None` if it was not."""
        pending = self._pending.get(turn.id)
        return pending.view.sidecar.state if pending else None

    def briefed(self, turn: Turn, system_prompt: str, briefing: Briefing) -> None:
        """Record what is added at `pipeline.prompt`, and the system prompt before it."""
        pending = self._pending.get(turn.id)
        if pending is not None:
            pending.system, pending.briefing = system_prompt, briefing

    async def count(self, turn: Turn) -> None:
        """Count tokens while the model answers, so that nobody waits for them at the end."""
        pending = self._pending.get(turn.id)
        if pending is not None:
            await self.forecasts.with_costs(pending.view, pending.decision)

    async def store(self, turn: Turn) -> None:
        """Store the receipt of a turn that is over; a disk that refuses is only logged.

        A turn that sent nothing has no receipt.
        """
        pending = self._pending.pop(turn.id, None)
        is_passed_on = pending is None and turn.client is not None
        if (pending is None and not is_passed_on) or (turn.aborted and not turn.sent):
            return
        sent, receipt, last = await self.made(turn, pending)
        if sent.messages:
            self._last_requests[turn.chat_id] = sent
        # An aside often comes before the first turn, which makes the chat.
        if is_passed_on or await self.chats.exists(turn.chat_id):
            await self.keep(turn.chat_id, receipt, last)

    async def keep(self, chat_id: ChatId, receipt: Receipt, last: LastRequest | None) -> None:
        """Store a receipt with its `last_request_of`; a disk that refuses is only logged."""
        try:
            await self.files.add(chat_id, receipt, last)
            self.emit(RECEIPT_KEPT, {"chat_id": chat_id, "turn": receipt.turn})
        except SmartContextError as error:
            self.logger.warning("the receipt of turn %s is not stored: %s", receipt.turn, error)

    async def made(
        self, turn: Turn, pending: PendingReceipt | None
    ) -> tuple[SentRequest, Receipt, LastRequest | None]:
        """The request of a turn that is over, its receipt, and what that tells of the next one.

        Args:
            pending: What it decided; `None` if another program's request was passed on.
        """
        models = self.model.models()
        name = models.chat.name
        make = await self._maker(turn, pending)
        previous = await self._request_before(turn.chat_id)
        now = self.clock()
        before = Before(
            last=await self.files.last_request(turn.chat_id),
            cache=self.model.cache(turn.client.model if turn.client else ""),
            asked_at=pending.asked_at if pending else now,
            at=utc_stamp(now),
            seconds=round(now - pending.asked_at, 2) if pending else None,
        )

        def counted(text: str) -> int:
            return count_tokens(text, name)

        def made() -> tuple[SentRequest, Receipt, LastRequest | None]:
            known = previous
            if not isinstance(known, SentRequest):
                known = sent_request(known, SentRequest(), counted)
            sent = sent_request(turn.sent, known, counted)
            receipt, last = make(
                requests=(known, sent),
                models={"chat": name, "embedding": models.embedder.name},
                before=before,
                count_tokens=counted,
            )
            return sent, receipt, last

        return await asyncio.to_thread(made)

    async def _maker(
        self, turn: Turn, pending: PendingReceipt | None
    ) -> Callable[..., tuple[Receipt, LastRequest | None]]:
        """A function that makes the receipt, after the messages' tokens are counted."""
        if pending is None:
            return partial(receipt_of_passed_on, turn)
        pending = pending.completed(
            turn.left_out, turn.added, lacks_attached=turn.lacks_optional_prompt
        )
        pending.attached = turn.request.attached_text
        forecast = await self.forecasts.with_costs(pending.view, pending.decision)
        return partial(receipt_of_turn, turn, pending, forecast)

    async def _request_before(self, chat_id: ChatId) -> SentRequest | Sequence[PromptMessage]:
        """The chat's previous request, from memory or its receipt; empty if unknown."""
        if known := self._last_requests.get(chat_id):
            return known
        newest = await self.files.newest(chat_id)
        return newest.prompt if newest else ()
