"""Models for tests and examples: answer from a script and record the requests."""

import asyncio
import hashlib
import re
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from smart_context.base.errors import ModelFailed
from smart_context.llm.models import (
    AnswerPiece,
    Completion,
    JsonReply,
    Matrix,
    PromptMessage,
    ToolCall,
    Usage,
    unit_rows,
)

_PIECES = re.compile(r"\s*+\S++|\s++\Z")
_WORDS = re.compile(r"\w++")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scripted:
    """One answer of a script."""

    # the text in the pieces in which it is streamed, or these pieces as a model gives them
    pieces: tuple[str | AnswerPiece, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()  # tool calls, after the text
    usage: Usage | None = None  # the tokens as an endpoint would count them
    # raised after `hold_after` pieces if there is a gate, else after all of them
    error: ModelFailed | None = None
    # awaited after `hold_after` pieces, so that a test can act in mid-answer
    gate: asyncio.Event | None = None
    hold_after: int = 0  # the number of pieces before the gate


Reply = str | ModelFailed | Scripted
Replies = Iterable[Reply] | Callable[[Sequence[PromptMessage]], Reply]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request to a `ScriptedChatModel`."""

    messages: tuple[PromptMessage, ...]
    tools: tuple[dict[str, Any], ...] = ()
    json_reply: bool = False
    streamed: bool = False


class ScriptedChatModel:
    """Answers with the next reply of a script; satisfies `ChatModel`.

    Args:
        replies: The replies in order, or a function of the messages. A text is streamed word by
            word, an error is raised, and `Scripted` allows more.
        name: The model's id.

    Attributes:
        asked: The requests so far.
        cancelled: The number of streams closed before their end.
    """

    def __init__(self, replies: Replies = (), *, name: str = "scripted") -> None:
        self._replies = replies if callable(replies) else deque(replies)
        self._name = name
        self.asked: list[Asked] = []
        self.cancelled = 0

    @property
    def name(self) -> str:
        """The id that was given."""
        return self._name

    def parameters(self, tools: Sequence[dict[str, Any]] = (), *, streamed: bool) -> dict[str, Any]:
        """All fields of a request's body but `messages`, as an endpoint would get them."""
        offered = {"tools": list(tools)} if tools else {}
        return {"model": self.name, **offered, **({"stream": True} if streamed else {})}

    async def stream(
        self, messages: Sequence[PromptMessage], *, tools: Sequence[dict[str, Any]] = ()
    ) -> AsyncGenerator[AnswerPiece]:
        """Stream the next reply.

        Raises:
            ModelFailed: If the script says so or has no more replies.
        """
        self.asked.append(Asked(messages=tuple(messages), tools=tuple(tools), streamed=True))
        ended = False
        try:
            async for piece in _played(self._next(messages)):
                yield piece
            ended = True
        except ModelFailed:
            ended = True
            raise
        finally:
            self.cancelled += not ended

    async def complete(
        self,
        messages: Sequence[PromptMessage],
        *,
        tools: Sequence[dict[str, Any]] = (),
        json_reply: JsonReply = False,
        most_characters: int | None = None,
    ) -> Completion:
        """The whole next reply, cut off where it is longer than it may be.

        Raises:
            ModelFailed: If the script says so or has no more replies.
        """
        self.asked.append(
            Asked(messages=tuple(messages), tools=tuple(tools), json_reply=bool(json_reply))
        )
        reply = self._next(messages)
        text = "".join([piece.text async for piece in _played(reply)])
        is_cut_off = most_characters is not None and len(text) > most_characters
        return Completion(
            text=text[:most_characters],
            tool_calls=reply.tool_calls,
            usage=reply.usage,
            is_cut_off=is_cut_off,
        )

    def _next(self, messages: Sequence[PromptMessage]) -> Scripted:
        if callable(self._replies):
            reply = self._replies(messages)
        elif self._replies:
            reply = self._replies.popleft()
        else:
            raise ModelFailed(f"The script of the model {self._name} has run out: add a reply.")
        if isinstance(reply, Scripted):
            return reply
        if isinstance(reply, ModelFailed):
            return Scripted(error=reply)
        return Scripted(pieces=tuple(_PIECES.findall(reply)))


async def _played(reply: Scripted) -> AsyncGenerator[AnswerPiece]:
    for position, piece in enumerate(reply.pieces):
        if position == reply.hold_after:
            await _hold(reply)
        yield piece if isinstance(piece, AnswerPiece) else AnswerPiece(text=piece)
    if len(reply.pieces) <= reply.hold_after:
        await _hold(reply)
    if reply.error is not None:
        raise reply.error
    if reply.tool_calls or reply.usage:
        yield AnswerPiece(tool_calls=reply.tool_calls, usage=reply.usage)


async def _hold(reply: Scripted) -> None:
    if reply.gate is not None:
        await reply.gate.wait()
        if reply.error is not None:
            raise reply.error


class ScriptedEmbedder:
    """Returns the vectors of a script; satisfies `Embedder`.

    Args:
        vectors: Vectors by text, of any length; they are scaled to unit length. Any other text
            becomes a bag of its words, each hashed to one dimension, so texts that share words
            are similar.
        name: The model's name in caches.
        dimension: The length of the vectors.

    Attributes:
        asked: The texts of each call so far.
        error: Raised by every call while set.
    """

    def __init__(
        self,
        vectors: Mapping[str, Sequence[float]] | None = None,
        *,
        name: str = "scripted",
        dimension: int = 32,
    ) -> None:
        self._vectors = dict(vectors or {})
        self._name = name
        self._dimension = len(next(iter(self._vectors.values()), (0.0,) * dimension))
        self.asked: list[tuple[str, ...]] = []
        self.error: ModelFailed | None = None

    @property
    def name(self) -> str:
        """The name that was given."""
        return self._name

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Shape (len(texts), d), one unit-length row per text; blank texts give zero rows.

        Raises:
            ModelFailed: While `error` is set.
        """
        self.asked.append(tuple(texts))
        if self.error is not None:
            raise self.error
        rows = np.zeros((len(texts), self._dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[:] = self._vectors[text] if text in self._vectors else self._bag(text)
        return unit_rows(rows)

    def _bag(self, text: str) -> Matrix:
        bag = np.zeros(self._dimension, np.float32)
        for word in _WORDS.findall(text.lower()):
            digest = hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()
            bag[int.from_bytes(digest[:4], "big") % self._dimension] += 1
        return bag
