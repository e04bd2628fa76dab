"""The models of connections, and the state of their servers, as far as these tell."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from smart_context.base.config import Connection, EndpointSettings, VaultConfig
from smart_context.llm.connections import connections_of
from smart_context.llm.failures import EndpointFailure, RequestFailed

State = Literal["answers", "refuses", "unreachable", "unchecked"]
"""`refuses`: it does not take the key. `unchecked`: nothing is known."""

AskModels = Callable[[EndpointSettings, float], Awaitable[Sequence[str]]]
"""Gives the ids of an endpoint's models within some seconds; raises `RequestFailed`."""

LONGEST_S = 5.0
"""The longest wait for one list; the user sees the others meanwhile."""

_FRESH_S = 300.0
_FRESH_AFTER_FAILURE_S = 30.0
_THERE = frozenset({"refused", "redirected", "nonsense", "endless"})
_REFUSALS = frozenset({401, 403})


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """The models and the state of one connection."""

    models: tuple[str, ...] = ()  # the ids of its models, as far as it lists them
    state: State = "unchecked"


NOTHING_OFFERED = Offer()


@dataclass(eq=False)
class Offers:
    """The offers of connections, remembered by address and key."""

    ask: AskModels | None = None  # `None`: no server is asked
    # the time at which each address last answered a question, as ISO 8601
    answered: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    clock: Callable[[], float] = time.monotonic
    _known: dict[tuple[str, str | None], tuple[Offer, float]] = field(default_factory=dict)

    async def look(self, endpoint: EndpointSettings) -> Offer:
        """Ask an endpoint now; if it does not list its models, the last known ones stay."""
        before = self.known(endpoint)
        if self.ask is None:
            return before
        try:
            async with asyncio.timeout(LONGEST_S):
                models = await self.ask(endpoint, LONGEST_S)
            offer, fresh_s = Offer(models=tuple(models), state="answers"), _FRESH_S
        except TimeoutError:
            offer, fresh_s = replace(before, state="unreachable"), _FRESH_AFTER_FAILURE_S
        except RequestFailed as error:
            state = self._state_after(error.failure, endpoint)
            offer, fresh_s = replace(before, state=state), _FRESH_AFTER_FAILURE_S
        self._known[_key(endpoint)] = offer, self.clock() + fresh_s
        return offer

    async def of(self, endpoint: EndpointSettings) -> Offer:
        """The offer of an endpoint; asks it unless that was done recently."""
        offer, until = self._known.get(_key(endpoint), (NOTHING_OFFERED, 0.0))
        return offer if self.clock() < until else await self.look(endpoint)

    async def choices(self, config: VaultConfig, model: str) -> list[str]:
        """The choices for a model's name without a connection.

        The first connection if it offers the model; otherwise all others that do.
        """
        connections = connections_of(config)
        for first in connections[:1]:
            if model in (await self.of(first.endpoint)).models:
                return [f"{first.id}/{model}"]
        others = connections[1:]
        offered = zip(others, await self.all_of(others), strict=True)
        return [f"{one.id}/{model}" for one, offer in offered if model in offer.models]

    async def all_of(self, connections: Sequence[Connection]) -> list[Offer]:
        """The offers of several connections; asks them at once unless that was done recently."""
        return await asyncio.gather(*(self.of(one.endpoint) for one in connections))

    def known(self, endpoint: EndpointSettings) -> Offer:
        """The last known offer of an endpoint."""
        return self._known.get(_key(endpoint), (NOTHING_OFFERED, 0.0))[0]

    def last_answered(self, endpoint: EndpointSettings) -> str | None:
        """The time of an endpoint's last answer since the program started, as ISO 8601."""
        return self.answered.get(endpoint.base_url)

    def _state_after(self, failure: EndpointFailure, endpoint: EndpointSettings) -> State:
        if failure.status in _REFUSALS:
            return "refuses"
        if failure.trouble not in _THERE:
            return "unreachable"
        # It lists no models, as some do that answer all the same.
        return "answers" if self.last_answered(endpoint) else "unchecked"


def _key(endpoint: EndpointSettings) -> tuple[str, str | None]:
    return endpoint.base_url, endpoint.api_key
