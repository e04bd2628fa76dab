"""Commands that list, show, compare and replay receipts, and sum up what they cost."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from smart_context.base.config.endpoints import Prices
from smart_context.base.errors import CommandFailed, InvalidParams, SmartContextError
from smart_context.base.values import CountTokens, JsonObject
from smart_context.chat.ids import check_chat_id
from smart_context.chat.messages import ChatId
from smart_context.host.commands.registry import Caller
from smart_context.host.request.tokens import tokens_by_message
from smart_context.llm.models import PromptMessage
from smart_context.plugin.choices.state import check_threshold
from smart_context.plugin.notes.context_documents import NamesContexts
from smart_context.plugin.receipts.documents import (
    difference_document,
    one_line_texts,
    receipt_document,
    receipt_line,
)
from smart_context.plugin.receipts.receipt import Receipt
from smart_context.plugin.receipts.replay import Replays
from smart_context.plugin.receipts.requests import shown_body
from smart_context.plugin.receipts.spent import By, Spent, Sum, summed
from smart_context.plugin.receipts.stored import StoredReceipts
from smart_context.storage.ports import Chats

_NAMES: Mapping[By, Callable[[str, Spent], str]] = {
    "day": lambda _, spent: spent.day,
    "model": lambda _, spent: spent.model,
    "chat": lambda chat_id, _: chat_id,
    "client": lambda _, spent: spent.client,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptCommands:
    """Shows the receipts of a vault's turns."""

    chats: Chats
    files: StoredReceipts
    replays: Replays
    prices: Callable[[], Prices]
    count_tokens: CountTokens

    async def costs(self, caller: Caller, by: By | None = None) -> JsonObject:
        """Sum up the tokens and costs of your chats' newest turns: by day, model, chat and client.

        With `by`, only by that. Days come newest first, the others by tokens sent.
        """
        prices = self.prices()
        rows = await self.chats.listing.rows(caller.person)
        turns = [(row.id, spent) for row in rows for spent in await self.files.spent(row.id)]
        titles = {str(row.id): row.title for row in rows}
        result: JsonObject = {
            "currency": prices.currency,
            "has_prices": bool(prices.by_pattern),
            "total": summed(turns, lambda *_: "", prices).get("", Sum()).to_dict(),
        }
        for name in (by,) if by else _NAMES:
            sums = summed(turns, _NAMES[name], prices)
            shown: list[JsonObject] = [
                {name: key, **({"title": titles[key]} if name == "chat" else {}), **each.to_dict()}
                for key, each in _ordered(sums, name)
            ]
            result[f"by_{name}"] = shown
        return result

    async def turns(self, chat_id: str) -> JsonObject:
        """Name the turns of a chat that have a receipt, with their messages, newest first."""
        checked = check_chat_id(chat_id)
        named = await self.files.named(checked)
        return {
            "chat_id": checked,
            "turns": [{"turn": t, "question": q, "answer": a} for t, q, a in named],
        }

    async def receipts(self, chat_id: str) -> JsonObject:
        """List the receipts of a chat's turns, newest first."""
        checked = check_chat_id(chat_id)
        texts = one_line_texts(await self.chats.messages(checked))
        return {
            "chat_id": checked,
            "receipts": [
                receipt_line(r, texts, self.prices()) for r in await self.files.all(checked)
            ],
        }

    async def knew(self, chat_id: str, message_id: str) -> JsonObject:
        """Say which messages an answer was sent, with their tokens, and what it took.

        Args:
            chat_id: The chat.
            message_id: The answer.
        """
        found = await self.files.of_answer(check_chat_id(chat_id), message_id)
        if found is None:
            raise CommandFailed(f"There is no receipt of an answer {message_id!r} in this chat.")
        prices = self.prices()
        spent = Spent.of(found)
        return {
            "sent": [[row.id, row.tokens] for row in found.rows if row.is_in],
            "total": len(found.rows),
            "model": found.models.get("chat", ""),
            "seconds": found.seconds,
            "price": spent and spent.price(prices),
            "currency": prices.currency,
        }

    async def receipt(
        self, chat_id: str, turn: str | None = None, diff: str | None = None
    ) -> JsonObject:
        """Show what a turn sent, and why: the newest, or one named by its id or a message's.

        With `diff`, also the differences from that turn to this one.
        """
        checked = check_chat_id(chat_id)
        known = await self.files.all(checked)
        found = named_receipt(known, turn)
        texts = one_line_texts(await self.chats.messages(checked))
        shown = receipt_document(found, texts, self.prices())
        if found.sent and not found.prompt:
            shown["prompt"] = await self._rebuilt_prompt(checked, found)
            shown["body"] = shown_body(found, shown["prompt"])
        shown["prompt_tokens"] = await self._tokens_of(shown["prompt"])
        if diff is not None:
            shown["diff"] = difference_document(named_receipt(known, diff), found, texts)
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
        contexts: Annotated[list[str] | None, NamesContexts] = None,
        role: str | None = None,
        pinned: list[str] | None = None,
        hidden: list[str] | None = None,
        model: str | None = None,
    ) -> JsonObject:
        """Show what a past turn would have sent under other settings; nothing is sent or stored."""
        checked = check_chat_id(chat_id)
        found = named_receipt(await self.files.all(checked), turn)
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
        replayed = await self.replays.replay(checked, found, changes, used)
        texts = one_line_texts(await self.chats.messages(checked))
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
        """A request that was too long to store, if chat and notes still produce the same one."""
        try:
            made = await self.replays.replay(chat_id, receipt, {}, receipt.models.get("chat", ""))
        except SmartContextError:
            return None
        if made.sent.get("digest") != receipt.sent.get("digest"):
            return None
        return list(made.prompt)


def named_receipt(receipts: Sequence[Receipt], name: str | None) -> Receipt:
    """The newest receipt, or the one of that turn, question or answer.

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


def _ordered(sums: Mapping[str, Sum], by: By) -> list[tuple[str, Sum]]:
    if by == "day":
        return sorted(sums.items(), reverse=True, key=lambda entry: entry[0])
    return sorted(sums.items(), key=lambda entry: (-entry[1].sent, entry[0]))
