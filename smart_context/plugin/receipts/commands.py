"""Keeps a receipt of each turn; shows, compares and replays them."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Literal

from smart_context.chat.ids import check_chat_id
from smart_context.chat.messages import ChatId
from smart_context.chat.store import ChatStore
from smart_context.errors import CommandFailed, InvalidParams, SmartContextError
from smart_context.host.models import Models
from smart_context.host.turn import Turn
from smart_context.llm.models import PromptMessage
from smart_context.llm.tokens import count_tokens
from smart_context.plugin.briefing.briefing import Briefing
from smart_context.plugin.forecast.forecasts import Looks
from smart_context.plugin.notes.named_contexts import Command
from smart_context.plugin.receipts.files import ReceiptFiles
from smart_context.plugin.receipts.making import Draft, receipt_of_turn
from smart_context.plugin.receipts.receipt import Receipt
from smart_context.plugin.receipts.replay import Replays
from smart_context.plugin.receipts.unchanged import LastRequests
from smart_context.plugin.receipts.views import (
    difference_view,
    receipt_view,
    summary_view,
    texts_of,
)
from smart_context.plugin.selection.selector import ChatView, Decision
from smart_context.plugin.settings import FilterSettings
from smart_context.values import JsonObject

RECEIPT_KEPT = "smart_context.receipt_kept"
"""Event: a turn's receipt is stored; carries `chat_id` and `turn`."""

MAX_TURNS = 256
"""Most turns at once of which it is remembered what was decided."""


class Receipts:
    """The receipts of a vault's turns.

    Args:
        chats: Where chats are.
        looks: Finds out what messages cost.
        replays: Takes past turns through the same functions again.
        models: Gives the models in use.
        emit: Tells the clients.
        logger: For what people should know.
    """

    def __init__(
        self,
        *,
        chats: ChatStore,
        looks: Looks,
        replays: Replays,
        models: Callable[[], Models],
        emit: Callable[[str, JsonObject], None],
        logger: logging.Logger,
    ) -> None:
        self._chats = chats
        self._looks = looks
        self._replays = replays
        self._models = models
        self._emit = emit
        self._logger = logger
        self._last = LastRequests()
        self._drafts: OrderedDict[str, Draft] = OrderedDict()  # metadata is the plugins' to assign
        self._files = ReceiptFiles(lambda chat_id: chats.place(chat_id, "receipts.jsonl"), logger)

    def commands(self) -> tuple[Command, ...]:
        """The commands, each by the name of its function."""
        return (self.receipts, self.receipt, self.replay)

    def decided(
        self, turn: Turn, view: ChatView, decision: Decision, settings: FilterSettings
    ) -> None:
        """Note what was decided at `pipeline.context`."""
        self._drafts[turn.id] = Draft(view=view, decision=decision, settings=settings)
        while len(self._drafts) > MAX_TURNS:
            self._drafts.popitem(last=False)

    def briefed(self, turn: Turn, system_prompt: str, briefing: Briefing) -> None:
        """Note what is added at `pipeline.prompt`, and the system prompt before it."""
        draft = self._drafts.get(turn.id)
        if draft is not None:
            draft.system, draft.briefing = system_prompt, briefing

    async def weigh(self, turn: Turn) -> None:
        """Count while the model answers, so that nobody waits for it at the end."""
        draft = self._drafts.get(turn.id)
        if draft is not None:
            await self._looks.weighed(draft.view, draft.decision)

    async def keep(self, turn: Turn) -> None:
        """Store the receipt of a turn that is over; a disk that refuses is logged, no more.

        A turn that sent nothing has none.
        """
        draft = self._drafts.pop(turn.id, None)
        if draft is None or (turn.aborted and not turn.sent):
            return
        draft.decision = draft.decision.without(turn.left_out)
        draft.attached = turn.request.attached_text
        if turn.lacks_optional_prompt:
            draft.briefing = draft.briefing.without_contexts()
        look = await self._looks.weighed(draft.view, draft.decision)
        models = self._models()
        name = models.chat.name
        before = await self._request_before(turn)
        receipt = await asyncio.to_thread(
            receipt_of_turn,
            turn,
            draft,
            look,
            before=before,
            at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            models={"chat": name, "embedding": models.embedder.name},
            count_tokens=lambda text: count_tokens(text, name),
        )
        try:
            if await self._chats.exists(turn.chat_id):
                await self._files.add(turn.chat_id, receipt)
                self._emit(RECEIPT_KEPT, {"chat_id": turn.chat_id, "turn": turn.id})
        except SmartContextError as error:
            self._logger.warning("the receipt of turn %s is not kept: %s", turn.id, error)

    async def _request_before(self, turn: Turn) -> Sequence[PromptMessage]:
        """The chat's request before this turn's, as far as it is known."""
        before = self._last.of(turn.chat_id)
        if not before:
            newest = (await self._files.all(turn.chat_id))[:1]
            before = newest[0].prompt if newest else ()
        if turn.sent:
            self._last.remember(turn.chat_id, turn.sent)
        return before

    async def receipts(self, chat_id: str) -> JsonObject:
        """List the receipts of a chat's turns, newest first."""
        checked = check_chat_id(chat_id)
        texts = texts_of(await self._chats.messages(checked))
        return {
            "chat_id": checked,
            "receipts": [summary_view(r, texts) for r in await self._files.all(checked)],
        }

    async def receipt(
        self, chat_id: str, turn: str | None = None, diff: str | None = None
    ) -> JsonObject:
        """Show what a turn sent, and why: the newest, or one named by its id or a message's.

        With `diff`, also what differs from that turn to this one.
        """
        checked = check_chat_id(chat_id)
        known = await self._files.all(checked)
        found = _named(known, turn)
        texts = texts_of(await self._chats.messages(checked))
        shown = receipt_view(found, texts)
        if found.sent and not found.prompt:
            shown["prompt"] = await self._made_again(checked, found)
        if diff is not None:
            shown["diff"] = difference_view(_named(known, diff), found, texts)
        return shown

    async def replay(  # noqa: PLR0913, PLR0917 - a parameter for each setting
        self,
        chat_id: str,
        turn: str | None = None,
        topics: list[str] | None = None,
        threshold: float | None = None,
        relevance: Literal["enriched", "plain"] | None = None,
        embedding_search: bool | None = None,
        recent_messages: int | None = None,
        keep_pairs: bool | None = None,
        context_budget_tokens: int | None = None,
        contexts: list[str] | None = None,
        role: str | None = None,
        pinned: list[str] | None = None,
        hidden: list[str] | None = None,
        model: str | None = None,
    ) -> JsonObject:
        """Show what a past turn would have sent under other settings; nothing is sent or stored."""
        checked = check_chat_id(chat_id)
        found = _named(await self._files.all(checked), turn)
        given = {
            "topics": topics,
            "threshold": threshold,
            "relevance": relevance,
            "embedding_search": embedding_search,
            "recent_messages": recent_messages,
            "keep_pairs": keep_pairs,
            "context_budget_tokens": context_budget_tokens,
            "contexts": contexts,
            "role": role,
            "pinned": pinned,
            "hidden": hidden,
        }
        changes = {name: value for name, value in given.items() if value is not None}
        if topics and embedding_search is None:
            changes["embedding_search"] = True
        _check(changes)
        used = model or found.models.get("chat", "")
        replayed = await self._replays.replay(checked, found, changes, used)
        texts = texts_of(await self._chats.messages(checked))
        return {**receipt_view(replayed, texts), "diff": difference_view(found, replayed, texts)}

    async def _made_again(self, chat_id: ChatId, receipt: Receipt) -> list[JsonObject] | None:
        """A request that was too long to be kept, if chat and notes still give the same."""
        try:
            made = await self._replays.replay(chat_id, receipt, {}, receipt.models.get("chat", ""))
        except SmartContextError:
            return None
        if made.sent.get("digest") != receipt.sent.get("digest"):
            return None
        return list(made.prompt)


def _named(receipts: Sequence[Receipt], name: str | None) -> Receipt:
    """The newest receipt, or the one of that turn, question or answer."""
    if not receipts:
        raise CommandFailed("There are no receipts of this chat yet; each answer adds one.")
    if name is None:
        return receipts[0]
    for receipt in receipts:
        if name in {receipt.turn, receipt.question, receipt.answer}:
            return receipt
    raise CommandFailed(
        f"There is no receipt of a turn {name!r} in this chat; `receipts` lists those there are."
    )


def _check(changes: JsonObject) -> None:
    threshold = changes.get("threshold", 0)
    if not -1 <= threshold <= 1:
        raise InvalidParams(f"threshold: expected a number from -1 to 1, found {threshold}")
    for name in ("recent_messages", "context_budget_tokens"):
        if changes.get(name, 0) < 0:
            raise InvalidParams(f"{name}: expected 0 or more, found {changes[name]}")
