"""What a receipt tells about the cost of the next request. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from smart_context.base.values import CountTokens
from smart_context.host.turn import Turn
from smart_context.plugin.briefing.briefing import Briefing
from smart_context.plugin.model_in_use import Cache
from smart_context.plugin.receipts.receipt import Receipt
from smart_context.plugin.selection.last_request import (
    LastRequest,
    Next,
    Paid,
    Shared,
    head_from,
    head_of,
    paid_after,
)
from smart_context.relevance.reasons import OUT, ReasonKind

_IN = frozenset(ReasonKind) - OUT


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """What came before a turn's request."""

    last: LastRequest | None  # the chat's last request; `None` if there is none
    cache: Cache
    asked_at: float  # when the turn's request began, in seconds since 1970
    at: str  # when the turn was over, ISO 8601
    seconds: float | None = None  # from then to the end of the answer

    @property
    def cached(self) -> LastRequest | None:
        """The last request, if the provider still has it."""
        last, cache = self.last, self.cache
        if last and last.is_cached(now=self.asked_at, ttl_s=cache.ttl_s, model=cache.model):
            return last
        return None


def with_costs(
    made: Receipt, turn: Turn, briefing: Briefing, before: Before, count_tokens: CountTokens
) -> Receipt:
    """A receipt with its cost, and with what the cost of the next one is computed from."""
    head = head_of(briefing.texts, count_tokens)
    told = {
        "asked": before.asked_at,
        "head": [list(part) for part in head],
        "question": count_tokens(turn.message),
    }
    last, cached = before.last, before.cached
    current = last_request_of(replace(made, for_next=told))
    if current is None:
        return made
    sent = _next(current, current.sent)
    filtered, everything = (
        sent if ids is current.sent else _next(current, ids)
        for ids in (current.filtered, current.everything)
    )
    paid = paid_after(
        last.paid if last else Paid(), cached, (sent, filtered, everything), before.cache.share
    )
    told["paid"] = [round(total, 1) for total in paid]
    shared = sent.shared(cached) if cached else Shared()
    if cached and made.repeated_tokens is not None:
        shared = shared._replace(unchanged=made.repeated_tokens)
    cost = {
        "sent": made.tokens,
        "unchanged": shared.unchanged,
        "reread": shared.reread,
        "saved": made.left_out_tokens,
        "unchanged_of_all": everything.unchanged(cached.sent, cached)[0] if cached else 0,
    }
    return replace(made, cost=cost, for_next=told)


def last_request_of(receipt: Receipt) -> LastRequest | None:
    """What the provider read; `None` if it got nothing of the chat, or the receipt is damaged."""
    is_unanswered = receipt.outcome == "failed" and not receipt.usage
    if receipt.kind != "turn" or not receipt.sent or is_unanswered or not receipt.for_next:
        return None
    try:
        return _last_request(receipt, receipt.for_next)
    except (KeyError, TypeError, ValueError):
        return None


def _last_request(receipt: Receipt, told: Mapping[str, Any]) -> LastRequest:
    rows, following = receipt.rows, []
    kinds = {row.kind for row in rows}
    if ReasonKind.CURRENT in kinds:
        following = [row.id for row in rows if row.kind is ReasonKind.CURRENT]
        rows = tuple(row for row in rows if row.kind is not ReasonKind.CURRENT)
        kinds.discard(ReasonKind.CURRENT)
    after = (receipt.question, *following)
    by_kinds = {frozenset(kinds): (*[row.id for row in rows], *after)}

    def ids(wanted: frozenset[ReasonKind]) -> tuple[str, ...]:
        found = wanted & kinds  # mostly the same ones: few passes over ten thousand rows
        if found not in by_kinds:
            by_kinds[found] = (*[row.id for row in rows if row.kind in found], *after)
        return by_kinds[found]

    tokens = {row.id: row.tokens for row in receipt.rows}
    return LastRequest(
        asked_at=float(told["asked"]),
        model=receipt.models.get("chat", ""),
        head=head_from(told["head"]),
        sent=ids(_IN),
        filtered=ids(_IN - {ReasonKind.WAITING}),
        everything=ids(_IN | {ReasonKind.BELOW}),
        after=after,
        tokens={**tokens, receipt.question: int(told["question"])},
        marked=(
            frozenset(receipt.settings.get("pinned", ())),
            frozenset(receipt.settings.get("hidden", ())),
        ),
        paid=Paid(*map(float, told.get("paid", ()))),
    )


def _next(current: LastRequest, ids: Sequence[str]) -> Next:
    ids = ids[: len(ids) - len(current.after)]
    return Next(head=current.head, ids=ids, tokens=[current.tokens[each] for each in ids])
