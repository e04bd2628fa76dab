"""A chat's last request, and what the next one shares with it. Pure.

Providers charge less for the beginning that a request shares with one that they have just read.
"""

import hashlib
import time
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress, count
from operator import ne
from typing import Any, NamedTuple

from smart_context.base.config.endpoints import Price
from smart_context.base.values import JsonObject
from smart_context.chat.messages import ChatId
from smart_context.plugin.selection.selector import ChatView, ContextSelector, Decision
from smart_context.plugin.settings import Cache, FilterSettings
from smart_context.relevance.reasons import KINDS, ReasonKind

Head = tuple[tuple[str, int], ...]
"""What comes before the messages in order, each as a digest and its tokens.

The tools come first, then the parts of the system prompt.
"""


class Shared(NamedTuple):
    """Tokens that a request has in common with the previous one."""

    unchanged: int = 0  # at the beginning of both
    reread: int = 0  # of the previous request's messages, sent again after that beginning
    place: int = 0  # index of the first message that is not unchanged


class Paid(NamedTuple):
    """What a chat's requests have cost by now, in tokens at the full price."""

    sent: float = 0.0  # as they were sent
    filtering: float = 0.0  # had each selection been applied at once
    everything: float = 0.0  # had all messages been sent each time


@dataclass(frozen=True, kw_only=True, eq=False)
class LastRequest:
    """What a provider read last of a chat."""

    asked_at: float  # when, in seconds since 1970
    model: str
    head: Head
    sent: tuple[str, ...]  # the ids of its messages in order, its question among them
    # the ids that it would have sent if the selection had been applied at once
    filtered: tuple[str, ...]
    everything: tuple[str, ...]  # the ids that it would have sent without a selection
    after: tuple[str, ...]  # the question and what followed it, with which all three end
    tokens: Mapping[str, int]
    # the messages that were pinned, and those that were hidden
    marked: tuple[frozenset[str], frozenset[str]]
    paid: Paid

    @cached_property
    def ids(self) -> frozenset[str]:
        """The ids of its messages."""
        return frozenset(self.sent)

    def is_cached(self, *, now: float, ttl_s: float, model: str) -> bool:
        """True if the provider still has it."""
        return model == self.model and now - self.asked_at < ttl_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Next:
    """A request that is about to be sent."""

    head: Head
    ids: Sequence[str]  # its messages in order, without the question
    tokens: Sequence[int]

    @property
    def total(self) -> int:
        """All its tokens."""
        return sum(self.tokens) + sum(tokens for _, tokens in self.head)

    def unchanged(self, before: Sequence[str], last: LastRequest) -> tuple[int, int]:
        """The tokens at the beginning of this request and of one of these messages.

        Args:
            before: The messages of the other request.
            last: Tells the head of that request and the tokens of messages.

        Returns:
            The tokens, and the number of its messages among them.
        """
        same = _same(last.head, self.head)
        found = sum(tokens for _, tokens in self.head[:same])
        if not same == len(self.head) == len(last.head):
            return found, 0
        place = _same(before, self.ids)
        known = list(map(last.tokens.get, self.ids[:place]))
        place = _same(known, self.tokens[:place])  # an edited message is another one
        return found + sum(self.tokens[:place]), place

    def shared(self, last: LastRequest) -> Shared:
        """What it has in common with the last request."""
        unchanged, place = self.unchanged(last.sent, last)
        rest = zip(self.tokens[place:], map(last.ids.__contains__, self.ids[place:]), strict=True)
        reread = sum([tokens for tokens, was_sent in rest if was_sent])
        same, known = _same(last.head, self.head), {digest for digest, _ in last.head}
        reread += sum(tokens for digest, tokens in self.head[same:] if digest in known)
        return Shared(unchanged, reread, place)

    def price(self, before: Sequence[str] | None, last: LastRequest | None, cached: float) -> float:
        """What it costs, in tokens at the full price.

        Args:
            before: The messages of the previous request; `None` if the provider has none.
            cached: The price of a cached token, as a share of the full one.
        """
        if before is None or last is None:
            return float(self.total)
        return self.total - (1 - cached) * self.unchanged(before, last)[0]


def paid_after(
    paid: Paid, cached: LastRequest | None, requests: tuple[Next, Next, Next], share: float
) -> Paid:
    """What a chat's requests have cost after one more.

    Args:
        cached: The last of them, if the provider still has it.
        requests: As it is sent, with its selection, and with all messages.
    """
    known = (cached.sent, cached.filtered, cached.everything) if cached else (None, None, None)
    return Paid(
        *(
            total + request.price(ids, cached, share)
            for total, request, ids in zip(paid, requests, known, strict=True)
        )
    )


def head_of(parts: Iterable[tuple[str, int]]) -> Head:
    """The head of a request from what comes before its messages, without empty parts.

    Args:
        parts: Each as its text and its tokens.
    """
    return tuple(
        (hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16], tokens)
        for text, tokens in parts
        if text
    )


def head_from(stored: Any) -> Head:
    """The head of a stored one.

    Raises:
        ValueError: If it is damaged.
        TypeError: Likewise.
    """
    return tuple((str(digest), int(tokens)) for digest, tokens in stored)


def cost_document(
    *,
    sent: int,
    saved: int,
    shared: Shared,
    unchanged_of_all: int,
    price: Price | None,
    currency: str,
) -> JsonObject:
    """What a request costs, as clients get it.

    Args:
        unchanged_of_all: Tokens that the request with all messages would share with that.
        price: That of its model; `None` if unknown.
    """
    unchanged = min(shared.unchanged, sent)
    cost: JsonObject = {
        "sent": sent,
        "unchanged": unchanged,
        "reread": shared.reread,
        "saved": saved,
    }
    if price is not None:
        whole = sent + saved
        cost["price"] = {
            "now": price.of(sent=sent, cached=unchanged, answered=0),
            "everything": price.of(sent=whole, cached=unchanged_of_all, answered=0),
            "currency": currency,
        }
    return cost


def shared_beginning(before: str, after: str) -> str:
    """The beginning that both texts share, found by bisection, since they can be very long."""
    lengths = range(1, min(len(before), len(after)) + 1)
    return after[: bisect_left(lengths, 1, key=lambda n: not after.startswith(before[:n]))]


def _same(before: Sequence[object], after: Sequence[object]) -> int:
    """The number of equal entries at the beginning of both."""
    return next(compress(count(), map(ne, before, after)), min(len(before), len(after)))


_BELOW = KINDS.index(ReasonKind.BELOW)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Decides whether a chat's next request sends its selection, or still all messages."""

    selector: ContextSelector
    settings: FilterSettings
    last_request: Callable[[ChatId], Awaitable[LastRequest | None]]
    tokens_of: Callable[[ChatView, Decision], Awaitable[Sequence[int]]]
    cache_of: Callable[[ChatId], Awaitable[Cache]]
    clock: Callable[[], float] = time.time  # seconds since 1970

    async def decide(self, view: ChatView) -> Decision:
        """What the chat's next request sends under its own choices, and why."""
        decision = await self.selector.decide(view)
        if view.sidecar.state.is_urgent:
            return decision
        held = await self._held(view.chat_id)
        if held is None or _marked(view) != held[0].marked:
            return decision
        last, cache = held
        everything = self.selector.sending_all(view, decision)
        if everything is None:
            return decision
        requests = requests_of(decision, await self.tokens_of(view, decision), last)
        return everything if is_cheaper_to_wait(*requests, last, cache.share) else decision

    async def cached(self, chat_id: ChatId) -> LastRequest | None:
        """A chat's last request, if selections wait and the provider still has it."""
        held = await self._held(chat_id)
        return held[0] if held else None

    async def _held(self, chat_id: ChatId) -> tuple[LastRequest, Cache] | None:
        """The same with the provider's cache."""
        if self.settings.apply == "now":
            return None
        last, cache = await self.last_request(chat_id), await self.cache_of(chat_id)
        if last and last.is_cached(now=self.clock(), ttl_s=cache.ttl_s, model=cache.model):
            return last, cache
        return None


def requests_of(decision: Decision, tokens: Sequence[int], last: LastRequest) -> tuple[Next, Next]:
    """The next request with the selection, and with all messages.

    Args:
        last: Tells the head, which is taken to be the same.
    """
    ids, kinds = decision.selection.reasons.ids, decision.selection.reasons.kinds
    is_in = decision.selection.reasons.is_in
    return (
        _next(ids, tokens, is_in.tolist(), last),
        _next(ids, tokens, (is_in | (kinds == _BELOW)).tolist(), last),
    )


def is_cheaper_to_wait(filtered: Next, everything: Next, last: LastRequest, cached: float) -> bool:
    """True if the next request should still have all messages, though some are selected.

    Applying a selection costs reading again what is not at the beginning any more; waiting costs
    what is sent beyond it, each time. It is applied once waiting has cost as much, as a skier buys
    skis once renting has. All messages are sent again once changes of the selection have cost half
    of what reading all again does. No sequence of changes may cost more than twice what always
    applying, or never, would have cost: that is why a way back is kept affordable.

    Args:
        cached: The price of a cached token, as a share of the full one.
    """
    paid = last.paid
    filtering = paid.filtering + filtered.price(last.filtered, last, cached)
    sending_all = paid.everything + (cost_of_all := everything.price(last.everything, last, cached))
    now, later = (each.price(last.sent, last, cached) for each in (filtered, everything))
    if last.sent != last.everything:
        return filtering - sending_all > (later - cost_of_all) / 2
    if paid.sent + later > 2 * filtering:
        return False
    way_back = (1 - cached) * everything.total
    pays = sending_all >= filtering or later >= now
    return not (pays and paid.sent + now + way_back <= 2 * sending_all)


def _next(
    ids: Sequence[str], tokens: Sequence[int], is_in: Sequence[bool], last: LastRequest
) -> Next:
    return Next(
        head=last.head,
        ids=tuple(compress(ids, is_in)),
        tokens=tuple(compress(tokens, is_in)),
    )


def _marked(view: ChatView) -> tuple[frozenset[str], frozenset[str]]:
    state = view.sidecar.state
    return frozenset(state.pinned), frozenset(state.hidden)
