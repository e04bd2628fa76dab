"""Asks again after a refusal: with the messages in another order, or with fewer of them."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from smart_context.base.config import EndpointSettings
from smart_context.base.errors import ModelFailed, TooLong
from smart_context.host.request.completion import RequestCompletion
from smart_context.host.request.speaking_order import order_wanted
from smart_context.host.request.window import Window
from smart_context.host.turn import Turn

MAX_SHORTENED = 12
"""Maximum attempts to shorten a request; after so many halvings even the largest one is tiny."""

T = TypeVar("T")

_logger = logging.getLogger(__name__)


class RefusedRequest(Protocol):
    """A request of a turn that was refused."""

    async def tokens(self) -> int:
        """The tokens of the request, as counted here."""

    async def learn_counts(self, counted: int) -> None:
        """Learn from the tokens that the endpoint counted in the request."""

    async def is_changed_by(self, window: Window) -> bool:
        """True if less would be sent within this window."""


@dataclass(frozen=True, slots=True)
class Refusals:
    """Asks a turn's request again if a refusal says how; it changes the turn's order and window."""

    turn: Turn
    endpoint: EndpointSettings | None  # the endpoint that is asked; `None` for an offline model
    completion: RequestCompletion  # knows the windows and orders of models
    sent: RefusedRequest

    async def asked(self, ask: Callable[[], Awaitable[T]]) -> T:
        """The result of `ask`, which is called again while a refusal can be answered.

        The request is shortened once; if the turn `sends_what_fits`, until the model takes it.

        Raises:
            ModelFailed: If the request is not asked again after its last refusal.
        """
        left = MAX_SHORTENED if self.turn.sends_what_fits else 1
        while True:
            try:
                return await ask()
            except ModelFailed as failure:
                if left and failure.too_long is not None and await self._shorten(failure.too_long):
                    left -= 1
                elif not await self._reorder(failure):
                    raise

    async def _reorder(self, failure: ModelFailed) -> bool:
        """Change the request to the order that the endpoint demands; `False` if it has it."""
        order, request = order_wanted(failure), self.turn.request
        if order <= request.order:
            return False
        _logger.info("turn %s: the endpoint wants its messages %s", self.turn.id, order.name)
        if self.endpoint is not None:
            await self.completion.known.learn_order(self.endpoint, order)
        self.turn.request = replace(request, order=order)
        return True

    async def _shorten(self, too_long: TooLong) -> bool:
        """Learn the window from a refusal; `False` if the request must not be asked again."""
        turn = self.turn
        if self.endpoint is None:
            return False
        if too_long.asked:
            await self.sent.learn_counts(too_long.asked)
        await self.completion.known.learn(self.endpoint, too_long, await self.sent.tokens())
        if too_long == TooLong() and not turn.sends_what_fits:
            return False  # only the user decides about a guess, which may leave out much
        window = self.completion.fitting_window(self.endpoint)
        if window is None or not await self.sent.is_changed_by(window):
            return False
        turn.window, turn.refused_above = window, window.tokens
        return True
