"""What a chat's next request costs: the tokens that a provider reads again, and the money."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from smart_context.base.values import JsonObject
from smart_context.chat.compaction import sent_text
from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.plugin.briefing.briefing import Briefing
from smart_context.plugin.forecast.forecasts import Forecast, Forecasts
from smart_context.plugin.forecast.plans import RequestPlanner, request_of
from smart_context.plugin.model_in_use import ModelInUse
from smart_context.plugin.selection.last_request import (
    LastRequest,
    Next,
    Shared,
    cost_document,
    head_of,
    shared_beginning,
)
from smart_context.plugin.selection.selector import ChatView, Decision

NOTES_AGE_S = 60.0
"""How old notes and files may be for the cost of a click, which is not to wait for them."""

_NOTHING = Message(id=MessageId("draft"), role="user", content="")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCosts:
    """Tells what chats' next requests cost."""

    forecasts: Forecasts
    planner: RequestPlanner
    model: ModelInUse
    last_request: Callable[[ChatId], Awaitable[LastRequest | None]]
    # gives what another program sends besides the messages of its chat
    client_fields_of: Callable[[ChatId], Awaitable[JsonObject]]
    clock: Callable[[], float] = time.time  # seconds since 1970

    async def of(self, view: ChatView, decision: Decision) -> JsonObject:
        """The cost of the next request, without the question."""
        forecast = await self.forecasts.with_costs(view, decision)
        state = view.sidecar.state
        briefing = await self.forecasts.briefing(view.chat_id, "", state, NOTES_AGE_S)
        fields = await self.client_fields_of(view.chat_id) if view.is_of_client else {}
        request = request_of(forecast, briefing, _NOTHING, "")
        added = self.planner.added(request, state, fields)
        tokens = forecast.with_briefing(briefing, self.model.count_tokens, "", added)
        return await self.document(forecast, briefing, tokens.total, fields)

    async def document(
        self, forecast: Forecast, briefing: Briefing, sent: int, fields: JsonObject
    ) -> JsonObject:
        """The cost of a request, as clients get it.

        Args:
            fields: All fields but the messages of another program's request.
        """
        cache = self.model.cache(str(fields.get("model") or ""))
        last = await self.last_request(forecast.view.chat_id)
        if last and not last.is_cached(now=self.clock(), ttl_s=cache.ttl_s, model=cache.model):
            last = None
        is_in = forecast.decision.selection.reasons.is_in
        head = head_of(briefing.texts, self.model.count_tokens)
        price, of_all = self.model.price(cache.model), 0
        if price and last:
            of_all = _next(forecast, head, np.ones_like(is_in)).unchanged(last.sent, last)[0]
        saved = forecast.left_out_tokens
        return cost_document(
            sent=sent,
            saved=saved,
            shared=self._shared(forecast, _next(forecast, head, is_in), last),
            unchanged_of_all=of_all,
            price=price,
            currency=self.model.currency(),
        )

    def _shared(self, forecast: Forecast, request: Next, last: LastRequest | None) -> Shared:
        if last is None:
            return Shared()
        shared = request.shared(last)
        place = shared.place
        if request.head != last.head or place >= min(len(last.sent), len(request.ids)):
            return shared
        ends = last.sent[place], request.ids[place]
        found = {str(m.id): m for m in forecast.view.messages if m.id in ends}
        if len(found) < len({*ends}) or len({message.role for message in found.values()}) > 1:
            return shared
        begun = shared_beginning(*(sent_text(found[end]) for end in ends))
        return shared._replace(unchanged=shared.unchanged + self.model.count_tokens(begun))


def _next(forecast: Forecast, head: tuple[tuple[str, int], ...], is_in: NDArray[np.bool_]) -> Next:
    return Next(
        head=head,
        ids=tuple(compress(forecast.decision.selection.reasons.ids, is_in.tolist())),
        tokens=forecast.costs.tokens[is_in].tolist(),
    )
