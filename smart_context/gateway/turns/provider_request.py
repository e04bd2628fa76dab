"""The request to a provider: the chosen part of a client's request, within the model's window."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from smart_context.base.config import EndpointSettings
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
from smart_context.host.request.tokens import prompt_tokens
from smart_context.host.request.window import Window
from smart_context.host.turn import Turn
from smart_context.host.turns.refusals import Refusals
from smart_context.llm.echoes import RepeatedKeys

T = TypeVar("T")


@dataclass(eq=False)
class ProviderRequest:
    """One request to a provider, which is asked again if a refusal says how.

    Attributes:
        all_sent: The bodies that were sent, refused ones first.
    """

    incoming: Incoming
    endpoint: EndpointSettings | None  # the provider's, with the model; `None` if we answer
    completion: RequestCompletion  # knows windows and orders of models
    all_sent: list[Outgoing] = field(default_factory=list, init=False)
    _chosen: ChosenUnits | None = field(default=None, init=False)

    @property
    def count(self) -> int:
        """The number of messages or items sent last; the client's before anything is sent."""
        return self.all_sent[-1].count if self.all_sent else self.incoming.item_count

    async def first(self, chosen: ChosenUnits | None) -> Outgoing:
        """The first request to send, within the model's window if that is certain.

        Args:
            chosen: The chosen part; `None` if the request must not be changed.
        """
        self._chosen = chosen
        if chosen is not None:
            turn, order = chosen.turn, self.completion.known.order(self.endpoint)
            certain = self.completion.certain_window(self.endpoint)
            turn.window = None if self.incoming.is_off else certain
            turn.request = replace(turn.request, is_of_client=True, order=order)
        return await self._next()

    async def asked(self, send: Callable[[Outgoing], Awaitable[T]]) -> T:
        """The result of sending the first request, or the one after its refusals.

        Args:
            send: Sends a request; raises `ModelFailed` if the provider refuses it with a reason.

        Raises:
            ModelFailed: If the last request was refused.
        """
        if self._chosen is None:
            return await send(self.all_sent[-1])
        is_again = False

        async def ask() -> T:
            nonlocal is_again
            sent = await self._next() if is_again else self.all_sent[-1]
            is_again = True
            return await send(sent)

        refusals = Refusals(self._chosen.turn, self.endpoint, self.completion, self)
        return await refusals.asked(ask)

    async def tokens(self) -> int:
        """The tokens of the last request, as counted here."""
        count = self.completion.counter(self.endpoint.model if self.endpoint else "")
        return await asyncio.to_thread(tokens_of, self.all_sent[-1], count)

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

    async def is_changed_by(self, window: Window) -> bool:
        """True if less than the last request would be sent within this window."""
        if self._chosen is None or self.incoming.is_off:
            return False
        _, less = await within_window(self._chosen.turn.request, window, self._body)
        return less.text != self.all_sent[-1].text

    async def _next(self) -> Outgoing:
        if self._chosen is None:
            sent = self._as_it_came()
        else:
            turn = self._chosen.turn
            request, sent = await within_window(turn.request, turn.window, self._body)
            if request is not turn.request:
                turn.shorten_to(request)
        self.all_sent.append(sent)
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
