"""When a changed selection is applied: at once, or as soon as it pays.

A selection changes a request near its beginning, so that a provider reads again, at the full
price, what it would have had at a tenth of it. See docs/costs.md for the rule and its measures.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import compress

from smart_context.chat.messages import ChatId
from smart_context.plugin.model_in_use import Cache
from smart_context.plugin.selection.last_request import LastRequest, Next
from smart_context.plugin.selection.selector import ChatView, ContextSelector, Decision
from smart_context.plugin.settings import FilterSettings
from smart_context.relevance.reasons import KINDS, ReasonKind

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
