"""The settings under `[plugins.smart_context]`; see docs/configuration.md."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from smart_context.base.config.endpoints import Price
from smart_context.host.models import Models
from smart_context.host.plugins.api import PluginContext
from smart_context.host.request.window import Window
from smart_context.llm.tokens import TokenCounter
from smart_context.relevance.judge.calibrate import DEFAULT_THRESHOLD


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterSettings:
    """The plugin's settings; `plugin.toml` declares and checks them."""

    # a score equal to it is kept; on the calibrated scale
    similarity_threshold: float = DEFAULT_THRESHOLD
    embedding_search: bool = True  # new chats begin with the similarity switch on
    # `plain` compares label and message alone; `enriched` also keywords and neighbours
    relevance: Literal["plain", "enriched"] = "enriched"
    recent_messages: int = 2  # the number of newest messages that are always kept
    keep_pairs: bool = True  # a kept answer brings its question
    context_budget_tokens: int = 8000  # the maximum tokens of a chat's contexts; 0 is no limit
    ask_above_tokens: int = 32000  # the page asks before it sends or copies more; 0 is never
    # the extractor of topics of chats that nobody has opened: the `embedded` one, or the `fast`
    # model
    atlas_extraction: Literal["embedded", "fast"] = "embedded"
    # how the model asks for files: `auto` by tool calls where it takes them
    file_tools: Literal["auto", "fenced", "off"] = "auto"

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any]) -> "FilterSettings":
        """The settings from values that the manifest has checked; other keys are ignored."""
        known = {name: settings[name] for name in cls.__dataclass_fields__ if name in settings}
        return cls(**known)


_MAY_CUT = (
    "Its server may cut a longer request without a word: set context_window to the tokens that it "
    "runs this model with."
)

_USUAL_SHARE = 0.1
"""The assumed price of a cached token if it is unknown, as a share of the full price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderCache:
    """The provider's prompt cache for a model."""

    model: str
    ttl_s: float  # seconds for which it keeps the beginning of a request
    share: float  # the price of a cached token, as a share of the full price


@dataclass(frozen=True, slots=True)
class ModelInUse:
    """The chat model in use now, and the others."""

    context: PluginContext

    def models(self) -> Models:
        """All models in use."""
        return self.context.models

    def name(self) -> str:
        """The chat model's name."""
        return self.context.models.chat.name

    def price(self, model: str) -> Price | None:
        """The price of a model; `None` if it is unknown."""
        return self.context.prices.of(model)

    def currency(self) -> str:
        """The currency of all prices."""
        return self.context.prices.currency

    def cache(self, model: str = "") -> ProviderCache:
        """The provider's cache for a model, by default the chat model."""
        name = model or self.name()
        price = self.price(name)
        share = min(price.cached / price.input, 1.0) if price and price.input else _USUAL_SHARE
        return ProviderCache(model=name, ttl_s=self.context.cache_ttl_s, share=share)

    async def ask_its_server(self) -> None:
        """Ask the model's server for its window, unless it has been asked already."""
        await self.context.requests.ask_server()

    def window(self) -> Window | None:
        """The chat model's context window; `None` if unknown."""
        return self.context.requests.window

    def window_note(self) -> str:
        """A note for people about the chat model's window before they send; usually empty."""
        return _MAY_CUT if self.context.requests.may_be_cut else ""

    def counter(self, model: str | None = None) -> TokenCounter:
        """The current token counter of a model, by default the chat model; changes as it learns."""
        window = self.window()
        return self.context.requests.counter(model or (window.model if window else self.name()))

    def count_tokens(self, text: str) -> int:
        """The number of tokens of a text for the chat model."""
        return self.counter()(text)
