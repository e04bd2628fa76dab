"""What a past turn would send under other settings; asks no model and writes nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from smart_context.base.errors import CommandFailed
from smart_context.chat.clients import client_history, is_of_client
from smart_context.chat.messages import SOURCE, ChatId, Message, MessageId
from smart_context.host.request.request import Request, attached_to
from smart_context.llm.tokens import count_tokens
from smart_context.plugin.briefing.briefing import Briefings
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.forecast.costs import TokenLedger
from smart_context.plugin.forecast.forecasts import with_costs
from smart_context.plugin.forecast.plans import RequestPlanner
from smart_context.plugin.receipts.making import PendingReceipt, receipt_of_replay
from smart_context.plugin.receipts.receipt import Receipt
from smart_context.plugin.receipts.requests import client_fields
from smart_context.plugin.selection.chat_filter import BuildHistory, ChatFilter
from smart_context.plugin.selection.selector import ChatView, ContextSelector, protected_ids
from smart_context.plugin.settings import FilterSettings
from smart_context.storage.ports import Chats

_OF_SETTINGS: Mapping[str, str] = {
    "threshold": "similarity_threshold",
    "relevance": "relevance",
    "embedding_search": "embedding_search",
    "recent_messages": "recent_messages",
    "keep_pairs": "keep_pairs",
    "context_budget_tokens": "context_budget_tokens",
}
"""The plugin's settings among a receipt's settings: receipt key to setting name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question, and the request that it makes."""

    question: Message
    request: Request  # without tools and images
    pending: PendingReceipt


def asked_by(pending: PendingReceipt, question: Message, text: str) -> Asked:
    """A question as it is sent.

    Args:
        text: With what is attached to it; a role's template words messages of the page only.
    """
    view, briefing = pending.view, pending.briefing
    request = Request(
        system_prompt=briefing.system_prompt(pending.system),
        history=pending.decision.messages,
        message=text if view.is_of_client else briefing.message,
        is_of_client=view.is_of_client,
        files=question.files,
        protected=protected_ids(view),
        optional_prompt=briefing.attached,
        attached_text=pending.attached,
    )
    return Asked(question=question, request=request, pending=pending)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replays:
    """Repeats past turns under other settings."""

    chats: Chats
    chat_filter: ChatFilter
    selector: ContextSelector
    briefings: Briefings
    build_history: BuildHistory
    planner: RequestPlanner

    async def replay(
        self, chat_id: ChatId, receipt: Receipt, changes: Mapping[str, Any], model: str
    ) -> Receipt:
        """What a turn would have sent with other settings, from the current chat and notes.

        Args:
            receipt: The turn, and the settings that are not changed.
            changes: Settings by their receipt keys.
            model: Counts its tokens.

        Raises:
            CommandFailed: If the turn's question is no longer in the chat.
        """
        asked = await self.asked(chat_id, receipt, changes, model)
        planned = await self.planner.plan(
            asked.request,
            asked.pending.view.sidecar.state,
            streamed="stream" in receipt.parameters or not receipt.parameters,
            fields=client_fields(receipt),
        )
        pending = asked.pending.completed(
            planned.left_out, planned.added, lacks_attached=planned.lacks_attached
        )

        def count(text: str) -> int:
            return count_tokens(text, model)

        view = pending.view
        as_text = self.planner.gives_tools_as_text() and not view.is_of_client
        ledger = TokenLedger(count)
        forecast = await with_costs(ledger, view, pending.decision, count, as_text=as_text)
        made = receipt_of_replay(
            pending, forecast, planned.body, original=receipt, count_tokens=count
        )
        problem = planned.problem or made.problem
        return replace(made, models={**receipt.models, "chat": model}, problem=problem)

    async def asked(
        self, chat_id: ChatId, receipt: Receipt, changes: Mapping[str, Any], model: str
    ) -> Asked:
        """The request of a past turn with other settings; see `replay`.

        Raises:
            CommandFailed: If the turn's question is no longer in the chat.
        """

        def count(text: str) -> int:
            return count_tokens(text, model)

        wanted = {**receipt.settings, **changes}
        view, question, sent = await self._as_it_was(chat_id, receipt, wanted)
        settings = settings_in(wanted)
        briefing = await self.briefings.under(
            chat_id,
            sent.text,
            view.sidecar.state,
            told=receipt.instructions,
            budget=settings.context_budget_tokens,
            model=model,
            count_tokens=count,
        )
        pending = PendingReceipt(
            view=view,
            decision=await self.selector.decide(view, settings=settings),
            settings=settings,
            briefing=briefing,
            system=receipt.system,
            attached=attached_to(sent, question.text),
            asked_at=0.0,
        )
        return asked_by(pending, question, sent.text)

    async def _as_it_was(
        self, chat_id: ChatId, receipt: Receipt, wanted: Mapping[str, Any]
    ) -> tuple[ChatView, Message, Message]:
        """The chat, the question as it is stored, and as it was sent."""
        question = MessageId(receipt.question)
        stored, others = await self.chats.snapshot(chat_id, SOURCE)
        asked = _without_later_summaries(_up_to(stored, question), receipt)
        of_client = is_of_client(others)
        built = await (client_history(asked) if of_client else self.build_history(asked))
        history = [message for message in built if message.id != question]
        sent = next((message for message in built if message.id == question), asked[-1])
        view = await self.chat_filter.view_before(chat_id, question, history)
        state = FilterState.from_dict({**wanted, "active_topics": wanted.get("topics")})
        sidecar = replace(view.sidecar, state=state)
        return replace(view, sidecar=sidecar), asked[-1], sent


def settings_in(wanted: Mapping[str, Any]) -> FilterSettings:
    """The plugin's settings among those of a receipt."""
    known = {name: wanted[key] for key, name in _OF_SETTINGS.items() if key in wanted}
    return FilterSettings(**known)


def _without_later_summaries(messages: Sequence[Message], receipt: Receipt) -> Sequence[Message]:
    """The messages without summaries that were made after the turn, which are put before it."""
    known = {row.id for row in receipt.rows}
    return [message for message in messages if not message.is_summary or message.id in known]


def _up_to(stored: Sequence[Message], question: MessageId) -> Sequence[Message]:
    place = next((place for place, m in enumerate(stored) if m.id == question), None)
    if place is None:
        raise CommandFailed(
            "The question of this turn is no longer in the chat, so it can't be replayed."
        )
    return stored[: place + 1]
