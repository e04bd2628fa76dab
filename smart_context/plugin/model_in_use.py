"""The models in use, as the plugin's parts ask for them; they may change at any time."""

from dataclasses import dataclass

from smart_context.base.config.endpoints import Price
from smart_context.host.models import Models
from smart_context.host.plugins.api import PluginContext
from smart_context.host.request.window import Window
from smart_context.llm.tokens import count_tokens

_SAMPLE = "word " * 200

_USUAL_SHARE = 0.1
"""The price of a cached token where none is known, as a share of the full one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """What the provider of a model keeps of requests."""

    model: str
    ttl_s: float  # seconds that it keeps the beginning of a request
    share: float  # the price of a cached token, as a share of the full one


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

    def cache(self, model: str = "") -> Cache:
        """The provider's cache for a model, by default the chat model."""
        name = model or self.name()
        price = self.price(name)
        share = min(price.cached / price.input, 1.0) if price and price.input else _USUAL_SHARE
        return Cache(model=name, ttl_s=self.context.cache_ttl_s, share=share)

    def window(self) -> Window | None:
        """Its context window; `None` when unknown."""
        return self.context.requests.window

    def correction(self, window: Window) -> float:
        """How many tokens the model's endpoint counts for one of ours, as far as it was learned."""
        return window.count(_SAMPLE) / count_tokens(_SAMPLE, window.model)

    def count_tokens(self, text: str) -> int:
        """The number of tokens of a text for that model."""
        return count_tokens(text, self.name())
