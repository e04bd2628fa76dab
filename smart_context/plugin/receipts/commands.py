"""Commands that list, show, compare and replay receipts, and sum up their costs."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from smart_context.base.config.endpoints import Prices
from smart_context.base.errors import CommandFailed, InvalidParams, SmartContextError
from smart_context.base.values import CountTokens, JsonObject
from smart_context.chat.clients import client_history, is_of_client
from smart_context.chat.messages import SOURCE, ChatId, Message, MessageId
from smart_context.host.commands.registry import Caller
from smart_context.host.request.request import attached_to
from smart_context.host.request.tokens import tokens_by_message
from smart_context.llm.models import PromptMessage
from smart_context.plugin.briefing.briefing import Briefing, Briefings
from smart_context.plugin.choices.state import FilterState, check_threshold
from smart_context.plugin.forecast.costs import TokenLedger
from smart_context.plugin.forecast.forecasts import with_costs
from smart_context.plugin.forecast.plan import RequestPlanner, TurnPlan
from smart_context.plugin.notes.context_documents import NamesContexts
from smart_context.plugin.receipts.documents import (
    difference_document,
    one_line_texts,
    receipt_document,
    receipt_line,
)
from smart_context.plugin.receipts.making import receipt_of_replay
from smart_context.plugin.receipts.receipt import Receipt, client_fields, shown_body
from smart_context.plugin.receipts.spent import By, CostSum, TurnCost, summed
from smart_context.plugin.receipts.stored import StoredReceipts
from smart_context.plugin.selection.chat_filter import BuildHistory, ChatFilter
from smart_context.plugin.selection.decision import ChatView
from smart_context.plugin.selection.selector import ContextSelector
from smart_context.plugin.settings import FilterSettings, ModelInUse
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
class Replays:
    """Repeats past turns under other settings."""

    chats: Chats
    chat_filter: ChatFilter
    selector: ContextSelector
    model: ModelInUse
    briefings: Briefings
    build_history: BuildHistory
    planner: RequestPlanner

    async def replay(
        self, chat_id: ChatId, receipt: Receipt, changes: Mapping[str, Any], model: str
    ) -> Receipt:
        """The receipt of a turn if it had other settings, from the current chat and notes.

        Args:
            receipt: The receipt of the turn, with the settings that are not changed.
            changes: The changed settings, by their receipt keys.
            model: The model to count tokens for.

        Raises:
            CommandFailed: If the turn's question is no longer in the chat.
        """
        plan = await self.planner.completed(
            await self.asked(chat_id, receipt, changes, model),
            streamed="stream" in receipt.parameters or not receipt.parameters,
            fields=client_fields(receipt),
        )
        count, view = self.model.counter(model), plan.view
        as_text = self.planner.gives_tools_as_text() and not view.is_of_client
        ledger = TokenLedger(lambda: count)
        forecast = await with_costs(ledger, view, plan.decision, count, as_text=as_text)
        made = receipt_of_replay(plan, forecast, original=receipt, count_tokens=count)
        problem = plan.problem or made.problem
        return replace(made, models={**receipt.models, "chat": model}, problem=problem)

    async def asked(
        self, chat_id: ChatId, receipt: Receipt, changes: Mapping[str, Any], model: str
    ) -> TurnPlan:
        """The plan of a past turn with other settings; see `replay`.

        Raises:
            CommandFailed: If the turn's question is no longer in the chat.
        """
        view, question, sent = await self._as_it_was(chat_id, receipt)
        view, settings = under(view, {**receipt.settings, **changes})
        briefing = await self.briefings.of(
            chat_id,
            sent.text,
            view.sidecar.state,
            told=receipt.instructions,
            budget=settings.context_budget_tokens,
            model=model,
        )
        return await self.asking(question, sent, view, settings, briefing, system=receipt.system)

    async def asking(
        self,
        question: Message,
        sent: Message,
        view: ChatView,
        settings: FilterSettings,
        briefing: Briefing,
        *,
        system: str = "",
    ) -> TurnPlan:
        """The plan of a question.

        Args:
            question: The question as it is stored.
            sent: The question as it is sent, with attached texts; a role's template only rewords
                messages of the page.
            system: The system prompt before role and contexts.
        """
        if view.is_of_client:
            briefing = replace(briefing, message=sent.text)
        return TurnPlan(
            view=view,
            decision=await self.selector.decide(view, settings=settings),
            settings=settings,
            question=question,
            briefing=briefing,
            system=system,
            attached=attached_to(sent, question.text),
        )

    async def _as_it_was(
        self, chat_id: ChatId, receipt: Receipt
    ) -> tuple[ChatView, Message, Message]:
        """The chat at the turn, the question as it is stored, and as it was sent."""
        question = MessageId(receipt.question)
        stored, others = await self.chats.snapshot(chat_id, SOURCE)
        asked = _without_later_summaries(_up_to(stored, question), receipt)
        of_client = is_of_client(others)
        built = await (client_history(asked) if of_client else self.build_history(asked))
        history = [message for message in built if message.id != question]
        sent = next((message for message in built if message.id == question), asked[-1])
        view = await self.chat_filter.view_before(chat_id, question, history)
        return view, asked[-1], sent


def under(view: ChatView, wanted: Mapping[str, Any]) -> tuple[ChatView, FilterSettings]:
    """A chat with the choices of a receipt's settings, and the plugin's settings in them."""
    state = FilterState.from_dict({**wanted, "active_topics": wanted.get("topics")})
    known = {name: wanted[key] for key, name in _OF_SETTINGS.items() if key in wanted}
    return replace(view, sidecar=replace(view.sidecar, state=state)), FilterSettings(**known)


def changes_of(**given: Any) -> dict[str, Any]:
    """The settings that are given; topics also switch the similarity search on."""
    changes = {name: value for name, value in given.items() if value is not None}
    if changes.get("topics"):
        changes.setdefault("embedding_search", True)
    return changes


def _without_later_summaries(messages: Sequence[Message], receipt: Receipt) -> Sequence[Message]:
    """The messages without later summaries, since those are stored before the turn."""
    known = {row.id for row in receipt.rows}
    return [message for message in messages if not message.is_summary or message.id in known]


def _up_to(stored: Sequence[Message], question: MessageId) -> Sequence[Message]:
    place = next((place for place, m in enumerate(stored) if m.id == question), None)
    if place is None:
        raise CommandFailed(
            "The question of this turn is no longer in the chat, so it can't be replayed."
        )
    return stored[: place + 1]


_NAMES: Mapping[By, Callable[[str, TurnCost], str]] = {
    "day": lambda _, spent: spent.day,
    "model": lambda _, spent: spent.model,
    "chat": lambda chat_id, _: chat_id,
    "client": lambda _, spent: spent.client,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptCommands:
    """Shows the receipts of a vault's turns."""

    chats: Chats
    stored: StoredReceipts
    replays: Replays
    prices: Callable[[], Prices]
    count_tokens: CountTokens

    async def costs(self, caller: Caller, by: By | None = None) -> JsonObject:
        """Sum up the tokens and costs of your chats' newest turns: by day, model, chat and client.

        With `by`, only by that. Days come newest first, the others by tokens sent.
        """
        prices = self.prices()
        rows = await self.chats.listing.rows(caller.person)
        turns = [(row.id, spent) for row in rows for spent in await self.stored.spent(row.id)]
        titles = {str(row.id): row.title for row in rows}
        result: JsonObject = {
            "currency": prices.currency,
            "has_prices": bool(prices.by_pattern),
            "total": summed(turns, lambda *_: "", prices).get("", CostSum()).to_dict(),
        }
        for name in (by,) if by else _NAMES:
            sums = summed(turns, _NAMES[name], prices)
            shown: list[JsonObject] = [
                {name: key, **({"title": titles[key]} if name == "chat" else {}), **each.to_dict()}
                for key, each in _ordered(sums, name)
            ]
            result[f"by_{name}"] = shown
        return result

    async def turns(self, chat_id: ChatId) -> JsonObject:
        """Name the turns of a chat that have a receipt, with their messages, newest first."""
        named = await self.stored.named(chat_id)
        return {
            "chat_id": chat_id,
            "turns": [{"turn": t, "question": q, "answer": a} for t, q, a in named],
        }

    async def receipts(self, chat_id: ChatId) -> JsonObject:
        """List the receipts of a chat's turns, newest first."""
        texts = one_line_texts(await self.chats.messages(chat_id))
        return {
            "chat_id": chat_id,
            "receipts": [
                receipt_line(r, texts, self.prices()) for r in await self.stored.all(chat_id)
            ],
        }

    async def knew(self, chat_id: ChatId, message_id: str) -> JsonObject:
        """Say which messages an answer was sent, with their tokens, and what it took."""
        found = await self.stored.of_answer(chat_id, message_id)
        if found is None:
            raise CommandFailed(f"There is no receipt of an answer {message_id!r} in this chat.")
        prices = self.prices()
        spent = TurnCost.of(found)
        return {
            "sent": [[row.id, row.tokens] for row in found.rows if row.is_in],
            "total": len(found.rows),
            "model": found.models.get("chat", ""),
            "seconds": found.seconds,
            "price": spent and spent.price(prices),
            "currency": prices.currency,
        }

    async def receipt(
        self, chat_id: ChatId, turn: str | None = None, diff: str | None = None
    ) -> JsonObject:
        """Show what a turn sent, and why: the newest, or one named by its id or a message's.

        With `diff`, also the differences from that turn to this one.
        """
        known = await self.stored.all(chat_id)
        found = named_receipt(known, turn)
        texts = one_line_texts(await self.chats.messages(chat_id))
        shown = receipt_document(found, texts, self.prices())
        if found.sent and not found.prompt:
            shown["prompt"] = await self._rebuilt_prompt(chat_id, found)
            shown["body"] = shown_body(found, shown["prompt"])
        shown["prompt_tokens"] = await self._tokens_of(shown["prompt"])
        if diff is not None:
            shown["diff"] = difference_document(named_receipt(known, diff), found, texts)
        return shown

    async def replay(  # noqa: PLR0913, PLR0917 - a parameter for each setting
        self,
        chat_id: ChatId,
        turn: str | None = None,
        topics: list[str] | None = None,
        threshold: float | None = None,
        relevance: Literal["enriched", "plain"] | None = None,
        embedding_search: bool | None = None,
        recent_messages: int | None = None,
        keep_pairs: bool | None = None,
        context_budget_tokens: int | None = None,
        contexts: Annotated[list[str] | None, NamesContexts] = None,
        role: str | None = None,
        pinned: list[str] | None = None,
        hidden: list[str] | None = None,
        model: str | None = None,
    ) -> JsonObject:
        """Show what a past turn would have sent under other settings; nothing is sent or stored."""
        found = named_receipt(await self.stored.all(chat_id), turn)
        changes = changes_of(
            topics=topics,
            threshold=threshold,
            relevance=relevance,
            embedding_search=embedding_search,
            recent_messages=recent_messages,
            keep_pairs=keep_pairs,
            context_budget_tokens=context_budget_tokens,
            contexts=contexts,
            role=role,
            pinned=pinned,
            hidden=hidden,
        )
        _check(changes)
        used = model or found.models.get("chat", "")
        replayed = await self.replays.replay(chat_id, found, changes, used)
        texts = one_line_texts(await self.chats.messages(chat_id))
        shown = receipt_document(replayed, texts, self.prices())
        return {
            **shown,
            "prompt_tokens": await self._tokens_of(shown["prompt"]),
            "diff": difference_document(found, replayed, texts),
        }

    async def _tokens_of(self, prompt: Sequence[PromptMessage] | None) -> list[int]:
        """The tokens of each message that a page shows of a request."""
        return await asyncio.to_thread(tokens_by_message, prompt or (), self.count_tokens)

    async def _rebuilt_prompt(self, chat_id: ChatId, receipt: Receipt) -> list[JsonObject] | None:
        """The messages of a request too long to store; `None` if they can't be rebuilt."""
        try:
            made = await self.replays.replay(chat_id, receipt, {}, receipt.models.get("chat", ""))
        except SmartContextError:
            return None
        if made.sent.get("digest") != receipt.sent.get("digest"):
            return None
        return list(made.prompt)


def named_receipt(receipts: Sequence[Receipt], name: str | None) -> Receipt:
    """The newest receipt, or the one with this turn, question or answer.

    Raises:
        CommandFailed: If there is none.
    """
    if not receipts:
        raise CommandFailed("There are no receipts of this chat yet; each answer adds one.")
    if name is None:
        return receipts[0]
    for receipt in receipts:
        if name in {receipt.turn, receipt.question, receipt.answer}:
            return receipt
    raise CommandFailed(
        f"There is no receipt of a turn {name!r} in this chat; `receipts` lists them."
    )


def _check(changes: JsonObject) -> None:
    check_threshold(changes.get("threshold"))
    for name in ("recent_messages", "context_budget_tokens"):
        if changes.get(name, 0) < 0:
            raise InvalidParams(f"{name}: expected 0 or more, found {changes[name]}")


def _ordered(sums: Mapping[str, CostSum], by: By) -> list[tuple[str, CostSum]]:
    if by == "day":
        return sorted(sums.items(), reverse=True, key=lambda entry: entry[0])
    return sorted(sums.items(), key=lambda entry: (-entry[1].sent, entry[0]))
