"""The models in use, as the plugin's parts ask for them; they may change at any time."""

from dataclasses import dataclass

from smart_context.host.models import Models
from smart_context.host.plugins.api import PluginContext
from smart_context.host.request.window import Window
from smart_context.llm.tokens import count_tokens

_SAMPLE = "word " * 200


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

    def window(self) -> Window | None:
        """Its context window; `None` when unknown."""
        return self.context.requests.window

    def correction(self, window: Window) -> float:
        """How many tokens the model's endpoint counts for one of ours, as far as it was learned."""
        return window.count(_SAMPLE) / count_tokens(_SAMPLE, window.model)

    def count_tokens(self, text: str) -> int:
        """The number of tokens of a text for that model."""
        return count_tokens(text, self.name())
