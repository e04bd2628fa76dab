"""What a model takes at once, and how much of that a request fills."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from smart_context.config import EndpointSettings
from smart_context.llm.models import PromptMessage
from smart_context.llm.tokens import count_tokens
from smart_context.llm.windows import context_window
from smart_context.values import CountTokens

MOST_OF_THE_WINDOW = 0.9
"""How much of the window a request may fill; the rest is for the answer."""

PER_MESSAGE = 5
"""Tokens around each message: 4 in the format of OpenAI's models, 5 in those of most others."""

PER_CALL = 24
"""Tokens around a tool call and its result, generously."""

PER_IMAGE = 1_500
"""Tokens of an image, which depend on its size and on the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What a model takes at once.

    Attributes:
        tokens: Of a request and its answer.
        model: Its name.
        count: Counts the tokens of a text for it.
    """

    tokens: int
    model: str
    count: CountTokens

    @property
    def room(self) -> int:
        """Most tokens of a request."""
        return int(self.tokens * MOST_OF_THE_WINDOW)


def window_of(endpoint: EndpointSettings | None, count: CountTokens | None = None) -> Window | None:
    """What a model takes: as the settings say, else as is known of it; `None` if it is not.

    Args:
        endpoint: The model.
        count: Counts for it, if somebody knows better than `count_tokens`.
    """
    tokens = endpoint and (endpoint.context_window or context_window(endpoint.model))
    if endpoint is None or not tokens:
        return None
    model = endpoint.model
    return Window(
        tokens=tokens, model=model, count=count or (lambda text: count_tokens(text, model))
    )


def tokens_of(prompt: Sequence[PromptMessage], count: CountTokens) -> int:
    """The tokens of a request's messages, with those around them; images at a flat rate."""
    around = sum(PER_MESSAGE + PER_CALL * len(message.get("tool_calls", ())) for message in prompt)
    images = sum(
        PER_IMAGE
        for message in prompt
        if isinstance(message["content"], list)
        for part in message["content"]
        if part.get("type") == "image_url"
    )
    return around + images + sum(count(text) for message in prompt for text in texts_of(message))


def texts_of(message: PromptMessage) -> Iterator[str]:
    """The texts of one message of a request."""
    content: Any = message["content"]
    if isinstance(content, str):
        yield content
    elif content:
        yield from (part["text"] for part in content if part.get("type") == "text")
    for call in message.get("tool_calls", ()):
        yield call["function"]["name"]
        yield call["function"]["arguments"]
