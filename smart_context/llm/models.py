"""The interfaces of chat and embedding models, independent of any vendor; waits for busy models.

Implemented in `llm/openai` and `llm/offline`; `app` chooses between them.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

PromptMessage = dict[str, Any]
"""One message of a request, with only the keys of the OpenAI chat API."""

Matrix = NDArray[np.float32]

JsonReply = bool | Mapping[str, Any]
"""True if a JSON object is wanted; or the JSON schema of the object."""


def text_of(message: PromptMessage) -> str:
    """The text of a message: its content, or the text parts of it joined by newlines."""
    content: Any = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def unit_rows(rows: Matrix) -> Matrix:
    """The rows scaled to length 1; zero rows stay zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The tokens that an endpoint counted for one request."""

    prompt_tokens: int  # all that was sent
    completion_tokens: int  # the answer
    # tokens at the request's beginning that it had read before; `None` if it did not say
    cached_tokens: int | None = None

    @classmethod
    def from_dict(cls, usage: object) -> "Usage | None":
        """The `usage` of an answer, of chat completions or responses; `None` if it has none."""
        if not isinstance(usage, Mapping):
            return None
        prompt = usage.get("prompt_tokens", usage.get("input_tokens"))
        answer = usage.get("completion_tokens", usage.get("output_tokens"))
        if not isinstance(prompt, int) or prompt <= 0:
            return None
        details = usage.get("prompt_tokens_details", usage.get("input_tokens_details"))
        told = details.get("cached_tokens") if isinstance(details, Mapping) else None
        cached = usage.get("prompt_cache_hit_tokens") if told is None else told  # DeepSeek's
        return cls(
            prompt_tokens=prompt,
            completion_tokens=answer if isinstance(answer, int) else 0,
            cached_tokens=min(max(cached, 0), prompt) if isinstance(cached, int) else None,
        )


NOTHING_USED = Usage(prompt_tokens=0, completion_tokens=0)
"""The usage of a request that was refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingProgress:
    """The progress of a server in reading a request."""

    tokens: int  # the tokens that it has to read, without those that it already knew
    percent: int | None = None  # the share of them that it has read, in 0 to 100; `None` if unknown

    @classmethod
    def from_dict(cls, progress: object) -> "ReadingProgress | None":
        """llama.cpp's `prompt_progress`; `None` if it is none."""
        if not isinstance(progress, Mapping):
            return None
        total, known, done = (progress.get(name) for name in ("total", "cache", "processed"))
        if not (isinstance(total, int) and isinstance(done, int)):
            return None
        known = known if isinstance(known, int) else 0
        tokens = total - known
        if tokens <= 0 or known < 0:
            return None
        share = (done - known) / tokens
        return cls(tokens=tokens, percent=int(100 * min(max(share, 0.0), 1.0)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A model's request to call a tool."""

    id: str  # names the call; its result carries the same id
    name: str
    arguments: str  # a JSON object as text, as the model wrote it; not yet validated


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPiece:
    """The next piece of a streamed answer; all but the texts comes last.

    Attributes:
        reasoning: What a model thinks before it answers; it is not part of the answer.
        takes_back: All text of the answer before this piece was thought, too.
        reading: How far the server has read the request, where it says so; before all text.
        is_cut_off: The model reached the most tokens that an answer may have.
        is_filtered: The provider's filter ended the answer.
    """

    text: str = ""
    reasoning: str = ""
    takes_back: bool = False
    reading: ReadingProgress | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    is_cut_off: bool = False
    is_filtered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A whole answer; `reasoning` and how it ended as in `AnswerPiece`."""

    text: str
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    is_cut_off: bool = False
    is_filtered: bool = False


class ChatModel(Protocol):
    """Answers a prompt."""

    @property
    def name(self) -> str:
        """The model's id, as shown to the user."""

    def parameters(self, tools: Sequence[dict[str, Any]] = (), *, streamed: bool) -> dict[str, Any]:
        """All fields of a request's body but `messages`, as `stream` or `complete` sends them."""

    def stream(
        self, messages: Sequence[PromptMessage], *, tools: Sequence[dict[str, Any]] = ()
    ) -> AsyncIterator[AnswerPiece]:
        """Stream the answer in pieces. Closing the iterator cancels the request.

        Raises:
            ModelFailed: While iterating; the pieces before it stay valid.
        """

    async def complete(
        self,
        messages: Sequence[PromptMessage],
        *,
        tools: Sequence[dict[str, Any]] = (),
        json_reply: JsonReply = False,
        most_characters: int | None = None,
    ) -> Completion:
        """The whole answer at once; `json_reply` asks for a JSON object where supported.

        With it, what would follow the object, or more than `most_characters`, is not waited for.

        Raises:
            ModelFailed: If the endpoint does not answer or refuses.
        """


class Embedder(Protocol):
    """Turns texts into vectors that can be compared."""

    @property
    def name(self) -> str:
        """The model's name in caches: vectors of different names are never compared."""

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Shape (len(texts), d), one unit-length row per text, in order.

        A text that is empty for the model gives a zero row. No texts: shape (0, d) or (0, 0).

        Raises:
            ModelFailed: If the endpoint does not answer or its answer is invalid.
        """


_hearers: ContextVar[list[Callable[[float], None]] | None] = ContextVar("hearers", default=None)


@contextmanager
def hearing_waits(hear: Callable[[float], None]) -> Iterator[None]:
    """A block in which `hear` gets the seconds of each wait of this task and its subtasks."""
    hearers = [hear]
    token = _hearers.set(hearers)
    try:
        yield
    finally:
        _hearers.reset(token)
        hearers.clear()  # a task that outlives this block reports to nobody


def tell_wait(seconds: float) -> None:
    """Report that a model was busy, and is asked again after this number of seconds."""
    for hear in _hearers.get() or ():
        hear(seconds)
