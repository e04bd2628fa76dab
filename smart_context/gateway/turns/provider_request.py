"""The request to a provider: the chosen part of a client's request, within the model's window."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from smart_context.base.config import EndpointSettings
from smart_context.base.errors import ModelFailed, TooLong
from smart_context.chat.messages import Message
from smart_context.gateway.requests.outgoing import (
    Outgoing,
    in_speaking_order,
    kept_units,
    outgoing,
)
from smart_context.gateway.turns.fitting import ChosenUnits, countable, tokens_of, within_window
from smart_context.gateway.turns.incoming import Incoming
from smart_context.host.request.completion import RequestCompletion
from smart_context.host.request.request import Request, added_by_client, request_body
from smart_context.host.request.speaking_order import order_wanted
from smart_context.host.request.tokens import prompt_tokens
from smart_context.host.request.window import Window
from smart_context.host.turn import Turn
from smart_context.llm.echoes import RepeatedKeys


@dataclass(eq=False)
class ProviderRequest:
    """One request to a provider, which is asked once more if it refuses the first.

    Attributes:
        all_sent: The bodies that were sent, refused ones first.
    """

    incoming: Incoming
    endpoint: EndpointSettings | None  # the provider's, with the model; `None` if we answer
    completion: RequestCompletion  # knows windows and orders of models
    all_sent: list[Outgoing] = field(default_factory=list, init=False)
    _chosen: ChosenUnits | None = field(default=None, init=False)
    _turn: Turn | None = field(default=None, init=False)
    _was_shortened: bool = field(default=False, init=False)  # after a refusal

    @property
    def count(self) -> int:
        """The number of messages or items sent last; the client's before anything is sent."""
        return self.all_sent[-1].count if self.all_sent else self.incoming.item_count

    async def first(self, chosen: ChosenUnits | None, turn: Turn | None) -> Outgoing:
        """The first request to send, within the model's window if that is certain.

        Args:
            chosen: The chosen part; `None` if the request must not be changed.
            turn: The turn of the request, which notes the messages that do not fit.
        """
        self._chosen, self._turn = chosen, turn
        return await self._sent()

    async def after_refusal(self, failure: ModelFailed) -> Outgoing | None:
        """The request to send again after the provider has refused this one with a reason.

        Shortened if it was too long, or with its messages in the order that the provider needs;
        `None` for other reasons, or if that is not possible.
        """
        if self._chosen is None or self.endpoint is None:
            return None
        known, order = self.completion.known, order_wanted(failure)
        if failure.too_long and not (self.incoming.is_off or self._was_shortened):
            return await self._shortened(failure.too_long, self.endpoint)
        if order > known.order(self.endpoint):
            await known.learn_order(self.endpoint, order)
            return await self._sent()
        return None

    async def learn_counts(self, counted: int) -> None:
        """Learn from the tokens that the provider counted in the last request."""
        if self.endpoint is None or self._chosen is None or not self.all_sent:
            return
        values, added = countable(self.all_sent[-1])
        if values:
            known = self.completion.known
            count = known.counter(self.endpoint.model)
            await asyncio.to_thread(prompt_tokens, values, count)  # remembers each text's count
            known.learn_counts(self.endpoint, values, added, counted)

    async def _sent(self) -> Outgoing:
        certain = self.completion.certain_window(self.endpoint)
        return await self._within(None if self.incoming.is_off else certain)

    async def _within(self, window: Window | None) -> Outgoing:
        if self._chosen is None:
            sent = self._as_it_came()
        else:
            order = self.completion.known.order(self.endpoint)
            asked = replace(self._chosen.request, is_of_client=True, order=order)
            request, sent = await within_window(asked, window, self._body)
            if request is not asked:
                self._chosen = replace(self._chosen, request=request)
                if self._turn is not None:
                    self._turn.shorten_to(request)
        self.all_sent.append(sent)
        return sent

    async def _shortened(self, too_long: TooLong, endpoint: EndpointSettings) -> Outgoing | None:
        """The request without the oldest messages that don't fit; `None` if that is not shorter."""
        refused = self.all_sent[-1]
        if too_long.asked:
            await self.learn_counts(too_long.asked)
        count = self.completion.counter(endpoint.model)
        tokens = await asyncio.to_thread(tokens_of, refused, count)
        await self.completion.known.learn(endpoint, too_long, tokens)
        window = self.completion.fitting_window(endpoint)
        if window is None or too_long == TooLong():
            return None
        sent = await self._within(window)
        if sent.text == refused.text:
            self.all_sent.pop()
            return None
        self._was_shortened = True
        if self._turn is not None:
            self._turn.refused_above = window.tokens
        return sent

    def _as_it_came(self) -> Outgoing:
        incoming = self.incoming
        every = range(len(incoming.units))
        return outgoing(incoming.kind, incoming.body, incoming.units, every, brought_back={})

    def _body(self, request: Request) -> Outgoing:
        """The body with the chosen messages, in the order that the provider needs."""
        incoming = self.incoming
        if incoming.is_off or self._chosen is None:
            made = self._as_it_came()
        else:
            ids = self._chosen.ids
            made = outgoing(
                incoming.kind,
                incoming.body,
                incoming.units,
                kept_units(incoming.units, ids, {message.id for message in request.history}),
                brought_back=_brought_back(request.history, ids, incoming.question),
                system=request.system_prompt.strip(),
            )
        return in_speaking_order(made, request.order)


def _brought_back(
    history: Sequence[Message], ids: Sequence[str], question: int
) -> dict[int, list[Message]]:
    """The messages that the client did not send, by the unit that they precede."""
    places = {message_id: place for place, message_id in enumerate(ids)}
    back: dict[int, list[Message]] = {}
    waiting: list[Message] = []
    for message in history:
        place = places.get(message.id)
        if place is None:
            waiting.append(message)
        elif waiting:
            back[place], waiting = waiting, []
    if waiting:
        back.setdefault(question, []).extend(waiting)
    return back


def note_sent(turn: Turn, sent: Outgoing, echoes: RepeatedKeys) -> None:
    """Note in a turn, for the receipt, another request that was sent; without our keys."""
    values, fields = sent.values(), sent.fields
    if echoes.are_in(sent.text):
        values, fields = echoes.value(list(values)), echoes.value(fields)
    turn.sent = tuple([value for value in values if isinstance(value, dict)])
    body = request_body(fields, values, sent.list_name) if sent.list_name else fields
    turn.bodies = (*turn.bodies, body)
    turn.added = added_by_client(fields, turn.system_prompt.strip())
