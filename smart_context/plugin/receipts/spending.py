"""The command that sums up what the caller's chats cost."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from smart_context.base.config.prices import Prices
from smart_context.base.values import JsonObject
from smart_context.host.commands.registry import Caller, CommandHandler
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
class SpendingCommands:
    """Sums up costs from receipts."""

    chats: Chats
    files: StoredReceipts
    prices: Callable[[], Prices]

    def commands(self) -> Mapping[str, CommandHandler]:
        """The commands by name."""
        return {"costs": self.costs}

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


def _ordered(sums: Mapping[str, Sum], by: By) -> list[tuple[str, Sum]]:
    if by == "day":
        return sorted(sums.items(), reverse=True, key=lambda entry: entry[0])
    return sorted(sums.items(), key=lambda entry: (-entry[1].sent, entry[0]))
