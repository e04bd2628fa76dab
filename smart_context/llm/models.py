"""What the product needs of a model, whoever makes it.

The implementations are `openai_models`, `embedded` and `scripted`; `app` chooses between them.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

PromptMessage = dict[str, Any]
"""One message of a request, with the keys of the OpenAI chat API and no others."""

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens that an endpoint counted for one request."""

    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A model's wish to use a tool.

    Attributes:
        id: Names the call; its result carries the same id.
        name: The tool.
        arguments: A JSON object as text, as the model wrote it: not checked yet.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """The next piece of a streamed answer; `usage` and `tool_calls` come with the last ones.

    `reasoning` is what a model thinks aloud before it answers; it is no part of the answer.
    """

    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A whole answer; `reasoning` as in `Piece`."""

    text: str
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None


class ChatModel(Protocol):
    """Answers a prompt."""

    @property
    def name(self) -> str:
        """The model's id, as shown to the user."""

    def stream(
        self, messages: Sequence[PromptMessage], *, tools: Sequence[dict[str, Any]] = ()
    ) -> AsyncIterator[Piece]:
        """The answer, piece by piece. Closing the iterator cancels the request.

        Raises:
            ModelFailed: While iterating; what arrived before it stays valid.
        """

    async def complete(
        self,
        messages: Sequence[PromptMessage],
        *,
        tools: Sequence[dict[str, Any]] = (),
        json_reply: bool = False,
    ) -> Completion:
        """The whole answer at once; `json_reply` asks for a JSON object where that is supported.

        Raises:
            ModelFailed: If the endpoint does not answer, or says no.
        """


class Embedder(Protocol):
    """Turns texts into vectors that can be compared."""

    @property
    def name(self) -> str:
        """Names the model in caches: vectors of different names are never compared."""

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Shape (len(texts), d), one unit-length row per text, in order.

        A text that is empty for the model gives a zero row. No texts: shape (0, d) or (0, 0).

        Raises:
            ModelFailed: If the endpoint does not answer, or answers nonsense.
        """
