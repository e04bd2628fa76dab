"""Tries out an endpoint: its models, if one answers, and its abilities."""

import asyncio
import json
import time
from collections.abc import Sequence
from contextlib import aclosing, suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from smart_context.base.config import EndpointSettings
from smart_context.base.errors import ModelFailed
from smart_context.llm.failures import EndpointFailure, RequestFailed, explained
from smart_context.llm.models import PromptMessage
from smart_context.llm.openai.asking import ServerInformant
from smart_context.llm.openai.connection import EndpointClient
from smart_context.llm.openai.endpoint import Endpoint
from smart_context.llm.openai.models import OpenAIChatModel, OpenAIEmbedder
from smart_context.llm.providers import context_window
from smart_context.llm.told import ToldByServer

MOST_MODELS = 2_000
_LONGEST_ID = 500
_LONGEST_S = 30.0
_MOST_SHOWN = 200
_PROMPT: PromptMessage = {"role": "user", "content": "Say hello in five words."}
_TOOL = {
    "type": "function",
    "function": {
        "name": "get_time",
        "description": "Gives the time.",
        "parameters": {"type": "object", "properties": {}},
    },
}
_PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA"
    "60e6kgAAAABJRU5ErkJggg=="
)
_SEES: PromptMessage = {
    "role": "user",
    "content": [
        {"type": "text", "text": "Which colour is this?"},
        {"type": "image_url", "image_url": {"url": _PIXEL}},
    ],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointTrial:
    """The result of trying a model."""

    ok: bool  # it answered
    model: str
    base_url: str  # its address
    text: str = ""  # the first words of its answer
    first_s: float | None = None  # seconds to the first word; `None` without an answer
    total_s: float | None = None  # seconds to the last one; `None` without an answer
    streaming: bool = False  # the answer came in several pieces
    tools: bool | None = None  # it took an offered tool; `None` if that was not tried
    images: bool | None = None  # it took an image; `None` if that was not tried
    window: int | None = None  # its window in tokens; `None` if it is not known
    dimensions: int | None = None  # of an embedding model: the length of its vectors
    problem: str = ""  # the problem and the next step; empty if it answered

    def row(self) -> dict[str, Any]:
        """The trial as JSON."""
        return asdict(self)


async def list_models(endpoint: EndpointSettings, *, timeout_s: float = _LONGEST_S) -> list[str]:
    """The ids of the models at an endpoint, sorted; at most 2,000.

    Raises:
        ModelFailed: If it does not answer, refuses, or its answer is no list of models.
    """
    try:
        return await asked_models(endpoint, timeout_s)
    except RequestFailed as error:
        raise explained(error.failure, endpoint, "chat model") from None


async def asked_models(endpoint: EndpointSettings, timeout_s: float) -> list[str]:
    """The same list; raises `RequestFailed` without one."""
    connection = Endpoint(_hurried(endpoint, timeout_s), "chat model")
    try:
        return _ids(await connection.fetch("/models", {}))
    finally:
        await connection.aclose()


async def try_chat_model(endpoint: EndpointSettings) -> EndpointTrial:
    """Ask a chat model for a few words, then offer it a tool and an image."""
    client = EndpointClient()
    model = OpenAIChatModel(_hurried(endpoint, _LONGEST_S), client)
    try:
        window = await _window(endpoint, client)
        spoken = replace(await _spoken(model, endpoint), window=window)
        if not spoken.ok:
            return spoken
        tools, images = await asyncio.gather(
            _takes(model, [{"role": "user", "content": "What time is it?"}], [_TOOL]),
            _takes(model, [_SEES], []),
        )
        return replace(spoken, tools=tools, images=images)
    finally:
        await model.aclose()


async def _window(endpoint: EndpointSettings, client: EndpointClient) -> int | None:
    """The tokens of a model's window: as set, as its server tells, or from a table."""
    told = ToldByServer()
    if endpoint.context_window is None:
        with suppress(RequestFailed):
            told = await ServerInformant(client).told(endpoint)
    return endpoint.context_window or told.window or context_window(endpoint.model)


async def try_embedding_model(endpoint: EndpointSettings) -> EndpointTrial:
    """Ask an embedding model for one vector."""
    model = OpenAIEmbedder(_hurried(endpoint, _LONGEST_S))
    begun = time.monotonic()
    known: dict[str, Any] = {"model": endpoint.model, "base_url": endpoint.base_url}
    try:
        width = (await model.embed(["hello"])).shape[1]
    except ModelFailed as error:
        return EndpointTrial(ok=False, problem=str(error), **known)
    finally:
        await model.aclose()
    return EndpointTrial(ok=True, total_s=_since(begun), dimensions=width, **known)


async def _spoken(model: OpenAIChatModel, endpoint: EndpointSettings) -> EndpointTrial:
    begun, first, text, pieces = time.monotonic(), None, "", 0
    known: dict[str, Any] = {"model": endpoint.model, "base_url": endpoint.base_url}
    try:
        async with aclosing(model.stream([_PROMPT])) as answer:
            async for piece in answer:
                if not (piece.text or piece.reasoning):
                    continue
                first = _since(begun) if first is None else first
                text, pieces = text + piece.text, pieces + 1
    except ModelFailed as error:
        return EndpointTrial(ok=False, problem=str(error), **known)
    if first is None:
        problem = f"The model {endpoint.model} answered with no text. Try another model."
        return EndpointTrial(ok=False, problem=problem, **known)
    return EndpointTrial(
        ok=True,
        text=text.strip()[:_MOST_SHOWN],
        first_s=first,
        total_s=_since(begun),
        streaming=pieces > 1,
        **known,
    )


async def _takes(
    model: OpenAIChatModel, messages: Sequence[PromptMessage], tools: Sequence[dict[str, Any]]
) -> bool:
    """True if a request of this kind is answered; with a tool, by calling it."""
    try:
        reply = await model.complete(messages, tools=tools)
    except ModelFailed:
        return False
    return bool(reply.tool_calls) if tools else True


def _hurried(endpoint: EndpointSettings, timeout_s: float) -> EndpointSettings:
    seconds = min(endpoint.timeout_s, timeout_s)
    return replace(endpoint, timeout_s=seconds, patience=1.0, max_retries=0)


def _since(begun: float) -> float:
    return round(time.monotonic() - begun, 3)


def _ids(body: bytes) -> list[str]:
    try:
        listed = json.loads(body)
    except (ValueError, RecursionError):
        listed = None
    rows = listed.get("data") if isinstance(listed, dict) else listed
    if not isinstance(rows, list):
        raise RequestFailed(EndpointFailure(trouble="nonsense"))
    ids = [row.get("id") for row in rows if isinstance(row, dict)]
    usable = {one for one in ids if isinstance(one, str) and 0 < len(one) <= _LONGEST_ID}
    return sorted(one for one in usable if one.isprintable())[:MOST_MODELS]
