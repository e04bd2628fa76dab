"""Facts about models from the servers that run them, stored on this machine.

A server is asked once, in the background, when one of its models is first used. More is learned
from requests that it refuses as too long, and from the tokens that it counts in requests.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError

from smart_context.base.caches import Caches
from smart_context.base.config import EndpointSettings
from smart_context.base.config.addresses import is_loopback
from smart_context.base.errors import StoreFailed, TooLong
from smart_context.host.request.speaking_order import SpeakingOrder
from smart_context.host.request.tokens import prompt_tokens, texts_of
from smart_context.host.request.window import stated_window
from smart_context.host.tasks import TaskOwner
from smart_context.llm.estimating import AS_ESTIMATED, TokenParts
from smart_context.llm.failures import RequestFailed
from smart_context.llm.models import PromptMessage
from smart_context.llm.providers import context_window
from smart_context.llm.tokens import TokenCounter
from smart_context.llm.told import LEAST_WINDOW, MOST_WINDOW, ToldByServer

CACHE_NAME = "known-models.json"

WAIT_S = 2.0
"""Time that one request waits for the facts of a server on this machine."""

_AGAIN_S = 600.0
_AGAIN_AFTER_FAILURE_S = 30.0
_MOST_KEPT = 500

LEAST_COUNTED = 400
"""Minimum tokens of a request to learn from; shorter ones have too many of the endpoint's words."""

_log = logging.getLogger(__name__)


class Informant(Protocol):
    """Asks servers for facts about models."""

    async def told(self, endpoint: EndpointSettings, /) -> ToldByServer:
        """A server's facts about a model; raises `RequestFailed` if it does not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """The known facts about a model."""

    told: ToldByServer = field(default_factory=ToldByServer)  # its server's facts
    # the window that it named when it refused a request as too long, or that was guessed then and
    # has worked; `None` if there is none
    refused_above: int | None = None
    # a guess of the window after its last refusal, if that named none; else `None`
    guess: int | None = None
    # the order of messages that it needs, as it said when it refused a request
    order: SpeakingOrder = SpeakingOrder.ANY
    # its way to count tokens, from its tokenizer and from requests that it has answered
    factors: TokenParts = AS_ESTIMATED

    @property
    def window(self) -> int | None:
        """The smaller one of the windows that it told and that it named in a refusal."""
        return min(filter(None, (self.told.window, self.refused_above)), default=None)

    def with_told(self, told: ToldByServer) -> "KnownModel":
        """The facts with new ones from its server; a changed window outdates refusals."""
        is_same = told.window in (None, self.told.window)
        is_new = told.factors not in (None, self.told.factors)
        if told.window is None and told.program == self.told.program:
            told = replace(self.told, factors=told.factors)
        return replace(
            self,
            told=told,
            refused_above=self.refused_above if is_same else None,
            guess=self.guess if is_same else None,
            factors=told.factors if told.factors and is_new else self.factors,
        )


_KNOWN = TypeAdapter(dict[str, KnownModel])


class KnownModels:
    """The known facts about models, by endpoint and model.

    Args:
        caches: Store the facts.
        informant: Asks servers; `None` asks none.
        clock: A monotonic clock, in seconds.
    """

    def __init__(
        self,
        caches: Caches,
        informant: Informant | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._caches = caches
        self._informant = informant
        self._clock = clock
        self._known: dict[str, KnownModel] = {}
        self._counters: dict[str, TokenCounter] = {}
        self._is_unwritten = False
        self._asked_at: dict[str, float] = {}
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._tasks = TaskOwner("known models")

    async def load(self) -> None:
        """Read the facts that were learned before."""
        self._known = {**await asyncio.to_thread(self._read), **self._known}
        for key, known in self._known.items():
            model = key.partition("|")[2]
            self._counters.setdefault(model, TokenCounter(model, known.factors))

    async def close(self) -> None:
        """Stop asking servers, and write facts not written yet, as in a vault without chats."""
        await self._tasks.close(timeout_s=0.5)
        if self._is_unwritten:
            await asyncio.to_thread(self._write)

    def window(self, endpoint: EndpointSettings) -> int | None:
        """The tokens of a model's window: as set, as learned, or from a table."""
        return self.certain_window(endpoint) or stated_window(endpoint)

    def certain_window(self, endpoint: EndpointSettings) -> int | None:
        """Like `window` without the table, since a server's model of that name may differ."""
        return endpoint.context_window or self._of(endpoint).window

    def may_cut_silently(self, endpoint: EndpointSettings) -> bool:
        """True if the server may cut requests without a word, because its window is unknown."""
        return endpoint.context_window is None and self._of(endpoint).told.may_cut_silently

    def counter(self, model: str) -> TokenCounter:
        """The counter of a model's tokens, which previews, requests and receipts share."""
        return self._counters.get(model) or TokenCounter(model)

    def learn_counts(
        self,
        endpoint: EndpointSettings,
        messages: Sequence[PromptMessage],
        tools: str,
        counted: int,
    ) -> None:
        """Learn from the tokens that an endpoint counted in a request.

        A server that cuts silently counts only the rest, so only a higher count is used then.

        Args:
            tools: The schemas of the tools in the request.
        """
        before = self.counter(endpoint.model)
        if before.is_exact:
            return
        around = prompt_tokens(messages, lambda _: 0)
        texts = [tools, *(text for message in messages for text in texts_of(message))]
        expected = sum(map(before, texts))
        is_cut = counted < expected and self.may_cut_silently(endpoint)
        if not is_cut and expected >= LEAST_COUNTED and counted > around:
            after = before.after(texts, counted - around)
            known = replace(self._of(endpoint), factors=after.factors)
            self._counters[endpoint.model] = after
            if self._take(endpoint, known):
                self._is_unwritten = True
                self._tasks.spawn(asyncio.to_thread(self._write))

    async def ask(self, endpoint: EndpointSettings | None) -> None:
        """Ask a model's server in the background, unless it has been asked lately.

        For a server on this machine, wait at most `WAIT_S`.
        """
        if endpoint is None or self._informant is None or not self._is_worth_asking(endpoint):
            return
        key = _key(endpoint)
        task = self._asking.get(key)
        is_first = key not in self._asked_at
        if task is None and self._clock() >= self._asked_at.get(key, 0.0):
            self._asked_at[key] = self._clock() + _AGAIN_S
            task = self._asking[key] = self._tasks.spawn(self._ask(endpoint, self._informant))
            task.add_done_callback(lambda _: self._asking.pop(key, None))
        if task is not None and is_first and _is_here(endpoint):
            await asyncio.wait([task], timeout=WAIT_S)

    async def learn(self, endpoint: EndpointSettings, too_long: TooLong, tokens: int) -> None:
        """Learn the window from a server's refusal of a request as too long.

        Args:
            tokens: The tokens of the request, as counted here.
        """
        named = too_long.window or 0
        is_sound = LEAST_WINDOW <= named <= MOST_WINDOW
        known = replace(self._of(endpoint), guess=None)
        if is_sound:
            known = replace(known, refused_above=named)
        if not is_sound or tokens <= named:
            guess = tokens - too_long.over if too_long.over else tokens // 2
            known = replace(known, guess=max(guess, LEAST_WINDOW))
        await self._note(endpoint, known)

    def fitting_window(self, endpoint: EndpointSettings) -> int | None:
        """The smallest known window after the last refusal, even if the settings name more."""
        known = self._of(endpoint)
        windows = self.window(endpoint), known.refused_above, known.guess
        return min(filter(None, windows), default=None)

    async def keep_guess(self, endpoint: EndpointSettings) -> None:
        """Use a guess that fitted as the window of a model whose window is unknown."""
        known = self._of(endpoint)
        if self.window(endpoint) is None:
            await self._note(endpoint, replace(known, refused_above=known.guess, guess=None))

    def order(self, endpoint: EndpointSettings | None) -> SpeakingOrder:
        """The order of messages that a model needs, as far as it is known."""
        return self._of(endpoint).order if endpoint else SpeakingOrder.ANY

    async def learn_order(self, endpoint: EndpointSettings, order: SpeakingOrder) -> None:
        """Learn the order of messages that a model needs."""
        await self._note(endpoint, replace(self._of(endpoint), order=order))

    def puts_tools_behind(self, endpoint: EndpointSettings | None) -> bool:
        """True if a model's template puts tools after the system prompt instead of before it.

        Templates in programs that run models on one's own machine do so.
        """
        return endpoint is not None and bool(self._of(endpoint).told.program)

    def ask_again(self, endpoint: EndpointSettings) -> None:
        """Let the next request ask again, since the server may only now have loaded the model."""
        if self._of(endpoint).told.may_cut_silently:
            self._asked_at.pop(_key(endpoint), None)

    async def _ask(self, endpoint: EndpointSettings, informant: Informant) -> None:
        try:
            told = await informant.told(endpoint)
        except RequestFailed as error:
            _log.info("%s tells nothing of its models: %s", endpoint.base_url, error)
            self._asked_at[_key(endpoint)] = self._clock() + _AGAIN_AFTER_FAILURE_S
            return
        known = self._of(endpoint).with_told(told)
        self._counters[endpoint.model] = TokenCounter(endpoint.model, known.factors)
        await self._note(endpoint, known)

    def _is_worth_asking(self, endpoint: EndpointSettings) -> bool:
        """True for servers on this machine, and for models that are not in the table of windows.

        Even if the user has set the window, a program on this machine may report its progress.
        """
        return _is_here(endpoint) or context_window(endpoint.model) is None

    def _of(self, endpoint: EndpointSettings) -> KnownModel:
        return self._known.get(_key(endpoint), _NOTHING)

    async def _note(self, endpoint: EndpointSettings, known: KnownModel) -> None:
        if self._take(endpoint, known):
            await asyncio.to_thread(self._write)

    def _take(self, endpoint: EndpointSettings, known: KnownModel) -> bool:
        """Remember the facts about a model; returns False if nothing is new."""
        if known == self._of(endpoint):
            return False
        self._known.pop(_key(endpoint), None)  # moves it to the end, since the newest are kept
        self._known[_key(endpoint)] = known
        return True

    def _read(self) -> Mapping[str, KnownModel]:
        try:
            return _KNOWN.validate_json(self._caches.read(CACHE_NAME))
        except (OSError, StoreFailed, ValidationError):
            return {}

    def _write(self) -> None:
        self._is_unwritten = not self._caches.can_keep()
        if self._is_unwritten:
            return
        kept = dict(list(self._known.items())[-_MOST_KEPT:])
        try:
            self._caches.write(CACHE_NAME, _KNOWN.dump_json(kept, indent=1))
        except StoreFailed as error:
            _log.info("what is known of models is not kept: %s", error)


_NOTHING = KnownModel()


def _key(endpoint: EndpointSettings) -> str:
    return f"{endpoint.base_url}|{endpoint.model}"


def _is_here(endpoint: EndpointSettings) -> bool:
    return is_loopback(urlsplit(endpoint.base_url).hostname or "")
