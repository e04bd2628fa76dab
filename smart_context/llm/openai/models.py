"""Models behind the OpenAI API: OpenAI, Ollama, vLLM, llama.cpp and others."""

import asyncio
import math
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import aclosing, nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from smart_context.base.config import EndpointSettings
from smart_context.base.errors import ModelFailed
from smart_context.base.text.names import storable, storable_value
from smart_context.base.waiting import is_waited_for
from smart_context.llm.echoes import RepeatedKeys, RepeatedKeysStream
from smart_context.llm.estimating import beginning
from smart_context.llm.failures import (
    AnswerNotUnderstood,
    EndpointFailure,
    RequestFailed,
    shown_url,
)
from smart_context.llm.models import (
    AnswerPiece,
    Completion,
    JsonReply,
    Matrix,
    PromptMessage,
    ReadingProgress,
    ToolCall,
    Usage,
    unit_rows,
)
from smart_context.llm.openai.connection import EndpointClient
from smart_context.llm.openai.endpoint import ANY_OBJECT, LARGEST_BODY, SCHEMA, Body, Endpoint
from smart_context.llm.openai.parts import read_in_parts
from smart_context.llm.openai.replies import ObjectEnd, StreamReader, read_completion, read_vectors


class StreamWatch:
    """Limits the silence of a stream.

    Args:
        patience_s: The longest time without new text; a slow machine reads first.
        timeout_s: The longest time without any bytes, once there was text.
        clock: The time in seconds.
    """

    def __init__(self, patience_s: float, timeout_s: float, clock: Callable[[], float]) -> None:
        self._patience_s, self._timeout_s = patience_s, timeout_s
        self._clock = clock
        self._heard, self._characters = clock(), 0
        self._reading: ReadingProgress | None = None

    async def next(self, chunks: AsyncIterator[bytes]) -> bytes | None:
        """The next bytes; `None` at the end.

        Raises:
            RequestFailed: If nothing comes for too long.
        """
        longest_s = self._timeout_s if self._characters else self._patience_s
        try:
            async with asyncio.timeout(longest_s):
                return await anext(chunks)
        except StopAsyncIteration:
            return None
        except TimeoutError:
            raise self._failed("nothing came", longest_s) from None

    def check(self, characters: int, reading: ReadingProgress | None = None) -> None:
        """Record the number of characters so far, and the progress of reading the request.

        Raises:
            RequestFailed: If neither has grown for too long.
        """
        now = self._clock()
        if characters > self._characters or reading != self._reading:
            self._reading = reading
            self._heard, self._characters = now, characters
        elif now - self._heard > self._patience_s:
            words = "no more text came" if self._characters else "the connection was kept open"
            raise self._failed(words, self._patience_s)

    def _failed(self, words: str, seconds: float) -> RequestFailed:
        if self._characters:
            failure = EndpointFailure(trouble="stalled", words=f"{words} for {seconds:g} s")
            return RequestFailed(failure)
        return RequestFailed(EndpointFailure(trouble="slow", words=words, waited_s=seconds))


_BATCH_TEXTS = 128
_BATCH_CHARACTERS = 200_000
_LARGEST_VECTOR = 96 << 10
"""The most bytes of one embedding: 4,096 numbers with all their digits."""

_TEXT_TOKENS = 1_440
_SHORT_TEXT_TOKENS = 320
"""Estimated by cl100k; embedding models know some 30,000 tokens and need more for a text."""


class OpenAIChatModel:
    """A chat model at an endpoint; satisfies `ChatModel`.

    At most `max_retries` retries, and none once an answer has begun. Fields that an endpoint
    rejects (`stream_options`, `response_format`) are not sent again.

    Args:
        endpoint: The model's address, key and timeout.
        client: The HTTP client that the models of a vault share; by default one of its own.
    """

    def __init__(self, endpoint: EndpointSettings, client: EndpointClient | None = None) -> None:
        self._endpoint = Endpoint(endpoint, "chat model", client)
        self._echoes = RepeatedKeys([endpoint.api_key])

    @property
    def name(self) -> str:
        """The model's id at its endpoint."""
        return self._endpoint.settings.model

    def parameters(self, tools: Sequence[dict[str, Any]] = (), *, streamed: bool) -> dict[str, Any]:
        """All fields of a request's body but `messages`; those that were refused are left out."""
        fields: dict[str, Any] = {"model": self._endpoint.settings.model}
        if tools:
            fields["tools"] = storable_value(tools)
        if streamed:
            fields |= {"stream": True, "stream_options": {"include_usage": True}}
        if streamed and self._endpoint.tells_progress:
            fields["return_progress"] = True
        return dict(self._endpoint.accepted(fields))

    async def stream(
        self, messages: Sequence[PromptMessage], *, tools: Sequence[dict[str, Any]] = ()
    ) -> AsyncGenerator[AnswerPiece]:
        """Stream the answer; closing the generator closes the connection.

        Raises:
            ModelFailed: While iterating; the pieces before it stay valid.
        """
        body = self._body(messages, self.parameters(tools, streamed=True))
        async with self._endpoint.ahead(), aclosing(self._pieces(body)) as pieces:
            async for piece in pieces:
                yield piece

    async def _pieces(self, body: Body) -> AsyncGenerator[AnswerPiece]:
        reader, clean = StreamReader(), _CleanPieces(self._echoes)
        settings, clock = self._endpoint.settings, asyncio.get_running_loop().time
        silence = StreamWatch(settings.patience_s, settings.timeout_s, clock)
        try:
            async with self._endpoint.stream(body) as chunks:
                while (chunk := await silence.next(chunks)) is not None:
                    for piece in clean.of(reader.feed(chunk)):
                        yield piece
                    silence.check(reader.characters, reader.reading)
                for piece in clean.of(reader.last()):
                    yield piece
                for piece in clean.last():
                    yield piece
                _check_ended(reader)
        except (asyncio.CancelledError, RequestFailed) as ended:
            # All that came stays, also of an answer that the user stops.
            for piece in (*clean.of([reader.held()]), *clean.last()):
                yield piece
            if isinstance(ended, RequestFailed):
                raise self._endpoint.explained(ended.failure) from None
            raise

    async def complete(
        self,
        messages: Sequence[PromptMessage],
        *,
        tools: Sequence[dict[str, Any]] = (),
        json_reply: JsonReply = False,
        most_characters: int | None = None,
    ) -> Completion:
        """The whole answer at once; `json_reply` asks for a JSON object where supported.

        An object is streamed all the same, and is complete once it closes; one that is longer than
        `most_characters` is cut off, so that a model which repeats itself comes to an end.

        Raises:
            ModelFailed: If the endpoint does not answer, refuses, or its answer is invalid.
        """
        body = self._body(messages, self.parameters(tools, streamed=bool(json_reply)))
        if json_reply:
            # the likeliest words: with random ones, small models mix up the things that they sort
            body |= {"response_format": _format(json_reply), "temperature": 0}
        ask = partial(self._object, body, most_characters) if json_reply else None
        ask = ask or partial(self._whole, body)
        if self._endpoint.tells_progress and not is_waited_for():
            ask = partial(self._read_and_asked, messages, ask)
        reply = await self._endpoint.in_order(ask)
        return replace(
            reply,
            text=self._echoes.text(reply.text),
            reasoning=self._echoes.text(reply.reasoning),
            tool_calls=_clean_calls(reply.tool_calls, self._echoes),
        )

    async def _read_and_asked(
        self,
        messages: Sequence[PromptMessage],
        ask: Callable[[], Coroutine[Any, Any, Completion]],
    ) -> Completion:
        """The answer to a request, after the server has read it in parts."""

        async def read(first: Sequence[PromptMessage]) -> Usage | None:
            fields = self.parameters(streamed=False) | {"max_tokens": 1}
            return (await self._whole(self._body(first, fields))).usage

        with suppress(ModelFailed):  # the request itself reports failures
            await read_in_parts(messages, read, asyncio.get_running_loop().time)
        return await ask()

    async def _whole(self, body: Body) -> Completion:
        try:
            return read_completion(await self._endpoint.fetch("/chat/completions", body))
        except RequestFailed as error:
            raise self._endpoint.explained(error.failure) from None

    async def _object(self, body: Body, most_characters: int | None) -> Completion:
        pieces: list[AnswerPiece] = []
        left = math.inf if most_characters is None else most_characters
        end = ObjectEnd()
        async with aclosing(self._pieces(body)) as arriving:
            async for piece in arriving:
                pieces.append(piece)
                left -= len(piece.text)
                if end.reached(piece.text) or left < 0:
                    break
        last = pieces[-1] if pieces else AnswerPiece()
        return Completion(
            text="".join(piece.text for piece in pieces),
            reasoning="".join(piece.reasoning for piece in pieces),
            tool_calls=last.tool_calls,
            usage=last.usage,
            is_cut_off=last.is_cut_off or left < 0,
            is_filtered=last.is_filtered,
        )

    async def aclose(self) -> None:
        """Close the client's connections; it makes new ones if others go on asking."""
        await self._endpoint.aclose()

    def _body(
        self, messages: Sequence[PromptMessage], parameters: dict[str, Any]
    ) -> dict[str, Any]:
        return {**parameters, "messages": messages}


def _format(wanted: JsonReply) -> Body:
    if wanted is True:
        return ANY_OBJECT
    return {
        "type": SCHEMA,
        "json_schema": {"name": "reply", "strict": True, "schema": wanted},
    }


class _CleanPieces:
    """Removes our key from the pieces of an answer."""

    def __init__(self, echoes: RepeatedKeys) -> None:
        self._echoes = echoes
        self._text, self._reasoning = RepeatedKeysStream(echoes), RepeatedKeysStream(echoes)

    def of(self, pieces: Iterable[AnswerPiece]) -> Iterator[AnswerPiece]:
        """The pieces, as far as they can be shown."""
        for piece in pieces:
            if piece.takes_back and (rest := self._text.last()):
                yield AnswerPiece(text=rest)
            clean = replace(
                piece,
                text=self._text.feed(piece.text),
                reasoning=self._reasoning.feed(piece.reasoning),
                tool_calls=_clean_calls(piece.tool_calls, self._echoes),
            )
            if clean != AnswerPiece():
                yield clean

    def last(self) -> Iterator[AnswerPiece]:
        """The text that was held back."""
        rest = AnswerPiece(text=self._text.last(), reasoning=self._reasoning.last())
        if rest != AnswerPiece():
            yield rest


def _clean_calls(calls: Sequence[ToolCall], echoes: RepeatedKeys) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(
            id=echoes.text(call.id),
            name=echoes.text(call.name),
            arguments=echoes.text(call.arguments),
        )
        for call in calls
    )


class OpenAIEmbedder:
    """An embedding model at an endpoint; satisfies `Embedder`.

    Sends about the first 1,440 tokens of a text, or 320 once the endpoint has said that texts are
    too long.

    Args:
        endpoint: The model's address, key and timeout.
        client: The HTTP client that the models of a vault share; by default one of its own.
    """

    def __init__(self, endpoint: EndpointSettings, client: EndpointClient | None = None) -> None:
        self._endpoint = Endpoint(endpoint, "embedding model", client)
        self._most_tokens = _TEXT_TOKENS

    @property
    def name(self) -> str:
        """Address and model: two servers may use one name for different models."""
        settings = self._endpoint.settings
        return f"{shown_url(settings.base_url)}|{settings.model}"

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Shape (len(texts), d), one unit-length row per text, in order.

        Blank texts are not sent, since endpoints refuse them; they give zero rows. If all are
        blank, d is 0.

        Raises:
            ModelFailed: If the endpoint does not answer, refuses, or sends too few vectors or
                vectors of different lengths.
        """
        places = [place for place, text in enumerate(texts) if text.strip()]
        ahead = self._endpoint.ahead() if is_waited_for() else nullcontext()
        try:
            heads = [beginning(texts[place], self._most_tokens) for place in places]
            async with ahead:
                parts = [await self._vectors(batch) for batch in _batches(heads)]
            found = _stacked(parts)
        except RequestFailed as error:
            raise self._endpoint.explained(error.failure) from None
        rows = np.zeros((len(texts), found.shape[1]), np.float32)
        rows[places] = unit_rows(found)
        return rows

    async def aclose(self) -> None:
        """Close the client's connections; it makes new ones if others go on asking."""
        await self._endpoint.aclose()

    async def _vectors(self, texts: Sequence[str]) -> Matrix:
        try:
            return await self._ask(texts)
        except RequestFailed as error:
            if self._most_tokens == _SHORT_TEXT_TOKENS or error.failure.too_long is None:
                raise
            self._most_tokens = _SHORT_TEXT_TOKENS
        return await self._ask(texts)

    async def _ask(self, texts: Sequence[str]) -> Matrix:
        body = {
            "model": self._endpoint.settings.model,
            "input": [storable(beginning(text, self._most_tokens)) for text in texts],
            "encoding_format": "base64",
        }
        most_bytes = LARGEST_BODY + len(texts) * _LARGEST_VECTOR
        found = await self._endpoint.fetch("/embeddings", body, most_bytes=most_bytes)
        return read_vectors(found, len(texts))


def _check_ended(reader: StreamReader) -> None:
    if not reader.ended:
        raise RequestFailed(EndpointFailure(trouble="broken"))


def _batches(texts: Sequence[str]) -> list[list[str]]:
    batches: list[list[str]] = []
    characters = 0
    for text in texts:
        characters += len(text)
        if not batches or len(batches[-1]) == _BATCH_TEXTS or characters > _BATCH_CHARACTERS:
            batches.append([])
            characters = len(text)
        batches[-1].append(text)
    return batches


def _stacked(parts: Sequence[Matrix]) -> Matrix:
    widths = sorted({part.shape[1] for part in parts})
    if len(widths) > 1:
        raise AnswerNotUnderstood(f"expected embeddings of one length, found lengths {widths}")
    return np.concatenate(parts) if parts else np.zeros((0, 0), np.float32)
