"""The tokens and price of a turn, and the expected cost of the next request. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple

from smart_context.base.config.endpoints import Prices
from smart_context.base.values import CountTokens, JsonObject
from smart_context.host.turn import Turn
from smart_context.llm.models import NOTHING_USED, Usage
from smart_context.llm.offline.responder import NAME as WITHOUT_MODEL
from smart_context.plugin.receipts.receipt import Receipt, ReceiptRow
from smart_context.plugin.selection.last_request import (
    LastRequest,
    NextRequest,
    RequestHead,
    SharedTokens,
    head_from,
)
from smart_context.plugin.settings import ProviderCache
from smart_context.relevance.reasons import FILTERED, OUT, ReasonKind

By = Literal["day", "model", "chat", "client"]


class TurnCost(NamedTuple):
    """The tokens of one turn."""

    day: str  # such as `2026-11-25`, in UTC
    model: str
    client: str  # the program that asked; empty for the page
    sent: int  # tokens of all its requests: as the endpoint counted them, else as we do
    # tokens of these that the provider had cached, by its own count; else those at the beginning
    # of a request that are the same as in the chat's previous request
    unchanged: int
    answered: int  # tokens of the answer; 0 if the endpoint did not count them
    saved: int  # tokens of the messages that the filter left out
    is_counted: bool

    @classmethod
    def of(cls, receipt: Receipt) -> "TurnCost | None":
        """The tokens of a receipt; `None` if it is damaged, nothing was sent or no answer began.

        Without a model, passages are quoted and nothing is sent.
        """
        try:
            took = receipt.spent or _of_last_request(receipt)
            if not took or receipt.models.get("chat") == WITHOUT_MODEL:
                return None
            sent = int(took.get("sent", receipt.tokens))
            return cls(
                day=str(receipt.at)[:10],
                model=str(receipt.models.get("chat", "")),
                client=str(receipt.client),
                sent=sent,
                unchanged=min(int(took.get("unchanged", 0)), sent),
                answered=int(took.get("answered", 0)),
                saved=receipt.left_out_tokens,
                is_counted=bool(took.get("counted")),
            )
        except (TypeError, AttributeError, ValueError, OverflowError):
            return None  # a file that another program wrote

    def price(self, prices: Prices) -> float | None:
        """The price of the tokens; `None` if the model's price is unknown."""
        price = prices.of(self.model)
        if price is None:
            return None
        return price.of(sent=self.sent, cached=self.unchanged, answered=self.answered)


def spent_tokens(
    usages: Sequence[Usage | None], estimates: Sequence[tuple[int, int]]
) -> Mapping[str, int]:
    """The tokens of all requests of a turn, for its receipt; empty if none was answered.

    Args:
        usages: The endpoint's count for each request; `None` if it did not count.
        estimates: The tokens of each request, and those that it shares with the one before.
    """
    took = Counter(sent=0, unchanged=0, answered=0)
    asked = [pair for pair in zip(usages, estimates, strict=True) if pair[0] != NOTHING_USED]
    for used, (sent, unchanged) in asked:
        if used is None:
            took.update(sent=sent, unchanged=min(unchanged, sent))
            continue
        cached = unchanged if used.cached_tokens is None else used.cached_tokens
        took.update(
            sent=used.prompt_tokens,
            unchanged=min(cached, used.prompt_tokens),
            answered=used.completion_tokens,
        )
    if not asked:
        return {}
    return {**took, "requests": len(asked), "counted": int(all(used for used, _ in asked))}


def _of_last_request(receipt: Receipt) -> Mapping[str, int]:
    """The same from receipts of earlier versions, which only know the turn's last request."""
    counted = receipt.usage.get("prompt")
    if counted is None and (receipt.outcome == "failed" or not receipt.sent):
        return {}
    return {
        "sent": receipt.tokens if counted is None else counted,
        "unchanged": receipt.repeated_tokens or 0,
        "answered": receipt.usage.get("completion") or 0,
        "counted": int(counted is not None),
    }


@dataclass(slots=True)
class CostSum:
    """The sum of turns."""

    turns: int = 0
    sent: int = 0
    unchanged: int = 0  # the tokens that a provider can have cached
    answered: int = 0
    saved: int = 0
    estimated: int = 0  # the number of turns that no endpoint counted
    # the price of the turns with a known price; `None` if there are none
    price: float | None = None
    unpriced: int = 0  # the number of turns without a known price

    def add(self, spent: TurnCost, prices: Prices) -> None:
        """Add a turn."""
        self.turns += 1
        self.sent += spent.sent
        self.unchanged += spent.unchanged
        self.answered += spent.answered
        self.saved += spent.saved
        self.estimated += not spent.is_counted
        price = spent.price(prices)
        if price is None:
            self.unpriced += 1
        else:
            self.price = (self.price or 0.0) + price

    def to_dict(self) -> JsonObject:
        """The sum as clients get it; the price is rounded to a millionth."""
        return asdict(self) | {"price": None if self.price is None else round(self.price, 6)}


def summed(
    turns: Iterable[tuple[str, TurnCost]], name_of: Callable[[str, TurnCost], str], prices: Prices
) -> dict[str, CostSum]:
    """The sums of turns by name.

    Args:
        turns: Each with its chat's id.
    """
    sums: dict[str, CostSum] = {}
    for chat_id, spent in turns:
        sums.setdefault(name_of(chat_id, spent), CostSum()).add(spent, prices)
    return sums


_IN = frozenset(ReasonKind) - OUT


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeTurn:
    """The chat's last request before a turn, with the times and the cache of the turn."""

    last: LastRequest | None  # the chat's last request; `None` if there is none
    cache: ProviderCache
    asked_at: float  # the time when the turn's request began, in seconds since 1970
    at: str  # the time when the turn was over, ISO 8601
    seconds: float | None = None  # from `asked_at` to the end of the answer

    @property
    def cached(self) -> LastRequest | None:
        """The last request if the provider still has it in its cache, else `None`."""
        last, cache = self.last, self.cache
        if last and last.is_cached(now=self.asked_at, ttl_s=cache.ttl_s, model=cache.model):
            return last
        return None


def with_costs(
    made: Receipt,
    turn: Turn,
    head: RequestHead,
    saved: int,
    before: BeforeTurn,
    count_tokens: CountTokens,
) -> tuple[Receipt, LastRequest | None]:
    """A receipt with its cost and the values for the cost of the next request.

    These values also come as the `LastRequest` that `last_request_of` reads from the receipt.

    Args:
        head: The parts of the request before its messages.
        saved: The tokens of the messages that the filter left out.
    """
    told = {
        "asked": before.asked_at,
        "head": [list(part) for part in head],
        "question": count_tokens(turn.message),
    }
    current = last_request_of(replace(made, for_next=told))
    if current is None:
        return made, None
    cached, shared, of_all = before.cached, SharedTokens(), 0
    if cached:
        shared = _request(made, head, _IN).shared(cached)
        of_all = _request(made, head, _IN | FILTERED).unchanged(cached)[0]
        if made.repeated_tokens is not None:
            shared = shared._replace(unchanged=made.repeated_tokens)
    cost = {
        "sent": made.tokens,
        "unchanged": shared.unchanged,
        "reread": shared.reread,
        "saved": saved,
        "unchanged_of_all": of_all,
    }
    return replace(made, cost=cost, for_next=told), current


def last_request_of(receipt: Receipt) -> LastRequest | None:
    """The request that the provider read; `None` if it read none, or the receipt is damaged."""
    is_unanswered = receipt.outcome == "failed" and not receipt.usage
    is_unanswered |= receipt.models.get("chat") == WITHOUT_MODEL
    if receipt.kind != "turn" or not receipt.sent or is_unanswered or not receipt.for_next:
        return None
    try:
        return _last_request(receipt, receipt.for_next)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return None


def _last_request(receipt: Receipt, told: Mapping[str, Any]) -> LastRequest:
    following = [row.id for row in receipt.rows if row.kind is ReasonKind.CURRENT]
    tokens = {row.id: row.tokens for row in receipt.rows}
    return LastRequest(
        asked_at=float(told["asked"]),
        model=receipt.models.get("chat", ""),
        head=head_from(told["head"]),
        sent=(*[row.id for row in _earlier(receipt, _IN)], receipt.question, *following),
        tokens={**tokens, receipt.question: int(told["question"])},
    )


def _request(receipt: Receipt, head: RequestHead, kinds: frozenset[ReasonKind]) -> NextRequest:
    """The request without its question, as if it had sent the rows of these kinds."""
    rows = _earlier(receipt, kinds)
    return NextRequest(head=head, ids=[row.id for row in rows], tokens=[row.tokens for row in rows])


def _earlier(receipt: Receipt, kinds: frozenset[ReasonKind]) -> Sequence[ReceiptRow]:
    """The rows of these kinds that came before the question."""
    wanted = kinds - {ReasonKind.CURRENT}
    return [row for row in receipt.rows if row.kind in wanted]
