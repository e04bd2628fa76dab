"""What is known of models from the servers that run them, kept on this machine.

A server is asked once, in the background, when a model of it is first used; what it refuses as too
long teaches as well, and so do the tokens that it counts in requests.
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
from smart_context.base.config.endpoints import is_loopback
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
"""How long a request waits for what a server on this machine tells, once."""

_AGAIN_S = 600.0
_AGAIN_AFTER_FAILURE_S = 30.0
_MOST_KEPT = 500

LEAST_COUNTED = 400
"""Smallest request to learn from; in shorter ones the endpoint's own words weigh too much."""

_log = logging.getLogger(__name__)


class Informant(Protocol):
    """Knows what servers tell of models."""

    async def told(self, endpoint: EndpointSettings, /) -> ToldByServer:
        """What a server tells of a model; raises `RequestFailed` if it does not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """What is known of a model."""

    told: ToldByServer = field(default_factory=ToldByServer)  # by its server
    # the window that it named when it refused a request as too long, or that was guessed then and
    # has worked; `None` if there is none
    refused_above: int | None = None
    # what fits for all that is known after its last refusal, which did not say; `None` if it did
    guess: int | None = None
    # how it wants the messages of a request, as it said when it refused one
    order: SpeakingOrder = SpeakingOrder.ANY
    # how it counts tokens, by its tokenizer and by requests that it has answered
    factors: TokenParts = AS_ESTIMATED

    @property
    def window(self) -> int | None:
        """The smaller one of the windows that it told and that it named in a refusal."""
        return min(filter(None, (self.told.window, self.refused_above)), default=None)

    def with_told(self, told: ToldByServer) -> "KnownModel":
        """What is known after its server has told this; a changed window outdates refusals."""
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
    """What is known of models, by endpoint and model.

    Args:
        caches: Where it is kept.
        informant: Asks servers; `None`: nobody is asked.
        clock: Seconds that only grow.
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
        """Read what was learned before."""
        self._known = {**await asyncio.to_thread(self._read), **self._known}
        for key, known in self._known.items():
            model = key.partition("|")[2]
            self._counters.setdefault(model, TokenCounter(model, known.factors))

    async def close(self) -> None:
        """Ask no longer; keep what had no place before, since the vault had no chat."""
        await self._tasks.close(timeout_s=0.5)
        if self._is_unwritten:
            await asyncio.to_thread(self._write)

    def window(self, endpoint: EndpointSettings) -> int | None:
        """The tokens of a model's window: as set, as learned, or from a table."""
        return self.certain_window(endpoint) or stated_window(endpoint)

    def certain_window(self, endpoint: EndpointSettings) -> int | None:
        """As `window`, but not from the table, which servers of the same name need not follow."""
        return endpoint.context_window or self._of(endpoint).window

    def may_cut_silently(self, endpoint: EndpointSettings) -> bool:
        """True if the server may cut requests without a word, because its window is unknown."""
        return endpoint.context_window is None and self._of(endpoint).told.may_cut_silently

    def counter(self, model: str) -> TokenCounter:
        """The one counter of a model's tokens: previews, requests and receipts all ask it."""
        return self._counters.get(model) or TokenCounter(model)

    def learn_counts(
        self,
        endpoint: EndpointSettings,
        messages: Sequence[PromptMessage],
        tools: str,
        counted: int,
    ) -> None:
        """Learn from the tokens that an endpoint counted in a request.

        A server that cuts silently counts what is left: then only a higher count says something.

        Args:
            tools: The schemas of the tools that it offered.
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
        """Let a model's server be asked in the background, if it has not been lately.

        A server on this machine is waited for, but not for long.
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
        """Learn the window from what a server said when it refused a request as too long.

        Args:
            tokens: Those of the request, as they are counted here.
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
        """The tokens that surely fit after the last refusal, whatever the settings say."""
        known = self._of(endpoint)
        windows = self.window(endpoint), known.refused_above, known.guess
        return min(filter(None, windows), default=None)

    async def keep_guess(self, endpoint: EndpointSettings) -> None:
        """Take what fitted for the window of a model that tells none."""
        known = self._of(endpoint)
        if self.window(endpoint) is None:
            await self._note(endpoint, replace(known, refused_above=known.guess, guess=None))

    def order(self, endpoint: EndpointSettings | None) -> SpeakingOrder:
        """How a model wants the messages of a request, as far as it is known."""
        return self._of(endpoint).order if endpoint else SpeakingOrder.ANY

    async def learn_order(self, endpoint: EndpointSettings, order: SpeakingOrder) -> None:
        """Learn how a model wants the messages of a request."""
        await self._note(endpoint, replace(self._of(endpoint), order=order))

    def puts_tools_behind(self, endpoint: EndpointSettings | None) -> bool:
        """True if a model's template puts tools behind the system prompt, not before it.

        That is what those do that programs for one's own machine fill in.
        """
        return endpoint is not None and bool(self._of(endpoint).told.program)

    def ask_again(self, endpoint: EndpointSettings) -> None:
        """Let the next request ask once more: the server may have loaded the model only now."""
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
        """False where a provider's model is in the table, and there is nothing else to learn.

        A window that the user has set says nothing of the program, which may tell its progress.
        """
        return _is_here(endpoint) or context_window(endpoint.model) is None

    def _of(self, endpoint: EndpointSettings) -> KnownModel:
        return self._known.get(_key(endpoint), _NOTHING)

    async def _note(self, endpoint: EndpointSettings, known: KnownModel) -> None:
        if self._take(endpoint, known):
            await asyncio.to_thread(self._write)

    def _take(self, endpoint: EndpointSettings, known: KnownModel) -> bool:
        """Note what is known now; False if it was known."""
        if known == self._of(endpoint):
            return False
        self._known.pop(_key(endpoint), None)  # the newest ones are kept
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
