"""The models for clients, the endpoint of each, and vectors of the embedded model."""

import asyncio
import base64
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from urllib.parse import quote

from starlette.responses import JSONResponse, Response

from smart_context.base.config import EndpointSettings, VaultConfig
from smart_context.base.values import JsonObject
from smart_context.gateway.edge.errors import GatewayError
from smart_context.gateway.edge.paths import is_model_path
from smart_context.gateway.edge.relay import read_all
from smart_context.gateway.edge.upstream import ProviderCall, Upstream
from smart_context.gateway.requests.body import Body, read_value
from smart_context.llm.connections import connections_of, endpoint_of_choice, is_at, model_at
from smart_context.llm.models import Embedder
from smart_context.llm.offers import Offers
from smart_context.llm.tokens import count_tokens

T = TypeVar("T")

EMBEDDED = "embedded/passages"

MODELS_S = 5.0
"""Maximum wait for the provider's models: clients ask as they start, and settings name some."""

MAX_MODELS_BYTES = 4 << 20
"""Maximum size of a provider's list that is read; 500 models take 1 MiB."""

_ERROR, _NOT_FOUND = 400, 404


async def endpoint_for(config: VaultConfig, offers: Offers, model: str) -> EndpointSettings | None:
    """The endpoint that a request goes to, with the model to ask there.

    The endpoint of the category that names the model; else the connection at the beginning of the
    name (`ollama/llama3`), unless the chat model's endpoint has a model of that whole name; else
    the chat model's endpoint, unless exactly one other offers the model.
    """
    named = (config.chat, config.fast, config.embedding)
    if found := next((one for one in named if one and one.model == model), None):
        return found
    default = config.chat and replace(config.chat, model=model or config.chat.model)
    connections = connections_of(config)
    by_id = next((one for one in connections if model.startswith(f"{one.id}/")), None)
    others = [one for one in connections if not default or not is_at(one.endpoint, default)]
    if not model or not (by_id or others):
        return default
    if default and model in (await offers.of(default)).models:
        return default
    if by_id is not None:
        return model_at(config, by_id.endpoint, model.removeprefix(f"{by_id.id}/"))
    offered = await offers.choices(config, model)
    return endpoint_of_choice(config, offered[0]) if len(offered) == 1 else default


@dataclass(eq=False)
class ListedModels:
    """Lists the models: those of the provider or, if it does not answer, those of the settings."""

    config: Callable[[], VaultConfig]  # gives the settings
    offers: Offers  # the models that connections offer
    upstream: Upstream  # passes requests on to providers
    patience_s: float  # the maximum wait for the provider, in seconds

    async def all(self) -> Response:
        """The list of models; a name from another connection begins with the connection's id."""
        theirs, others = await asyncio.gather(self._in_time(self._asked("/models")), self._others())
        entries = _entries(theirs or b"")
        if entries is not None and not others:
            return _json(theirs or b"")
        listed = [_view(name) for name in _named(self.config())] if entries is None else entries
        known = {entry["id"] for entry in listed if _is_model(entry)}
        more = [_view(name) for name in others if name not in known]
        return JSONResponse({"object": "list", "data": [*listed, *more]})

    async def _others(self) -> list[str]:
        """The models of all connections but the provider's, each with its connection's id."""
        _, *others = connections_of(self.config()) or [None]
        found = [one for one in others if one is not None]
        offered = await self.offers.all_of(found)
        return [
            f"{one.id}/{model}"
            for one, offer in zip(found, offered, strict=True)
            for model in offer.models or filter(None, [one.endpoint.model])
        ]

    async def one(self, name: str) -> Response:
        """One model.

        Raises:
            GatewayError: If neither the provider nor the settings know it.
        """
        if theirs := await self._in_time(self._described(name)):
            return theirs
        if name in _named(self.config()) or name in await self._others():
            return JSONResponse(_view(name))
        raise GatewayError(
            _NOT_FOUND, f"There is no model {name!r}.", param="model", code="model_not_found"
        )

    async def _in_time(self, asking: Coroutine[Any, Any, T]) -> T | None:
        try:
            async with asyncio.timeout(self.patience_s):
                return await asking
        except (GatewayError, TimeoutError):
            return None

    async def _described(self, name: str) -> Response | None:
        if is_model_path(name):
            body = await self._asked(f"/models/{quote(name)}")
            if _is_model(_read(body)):
                return _json(body)
        # Some providers list names with a slash, but have no such path.
        listed = _entries(await self._asked("/models")) or []
        found = next((entry for entry in listed if _is_model(entry) and entry["id"] == name), None)
        return None if found is None else JSONResponse(found)

    async def _asked(self, path: str) -> bytes:
        """The body of the provider's answer; empty for an error, or without a provider.

        Raises:
            GatewayError: If the provider can't be reached.
        """
        endpoint = self.config().chat
        if endpoint is None:
            return b""
        call = ProviderCall(endpoint=endpoint, method="GET", path=path, headers={})
        answer = await self.upstream.send(call)
        body = await read_all(answer, MAX_MODELS_BYTES)
        return body if answer.status < _ERROR else b""


def _named(config: VaultConfig) -> list[str]:
    """The models named in the settings, or else the embedded model."""
    named = (config.chat, config.fast, config.embedding)
    return [*dict.fromkeys(e.model for e in named if e)] or [EMBEDDED]


def _view(name: str) -> JsonObject:
    made = {"created": int(time.time()), "owned_by": "smart-context"}
    return {"id": name, "object": "model", **made}


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json")


def _entries(body: bytes) -> list[Any] | None:
    """The models of a provider's list; `None` if it is not a list, such as an HTML page.

    A few providers send the list without an object around it.
    """
    found = _read(body)
    entries = found.get("data") if isinstance(found, dict) else found
    return entries if isinstance(entries, list) else None


def _is_model(found: object) -> bool:
    return isinstance(found, dict) and isinstance(found.get("id"), str)


def _read(body: bytes) -> Any:
    try:
        return read_value(body)
    except (ValueError, RecursionError):
        return None


MAX_TEXTS = 2048
_FORMATS = ("float", "base64")


async def embedded_vectors(body: Body, embedder: Embedder) -> Response:
    """The answer to a request for embeddings.

    Raises:
        GatewayError: If the input is not text, or the format is not known.
    """
    texts = _texts(body.get("input"))
    encoding = body.get("encoding_format") or "float"
    if encoding not in _FORMATS:
        raise GatewayError(
            400, f"encoding_format: expected one of {_FORMATS}.", param="encoding_format"
        )
    vectors = await embedder.embed(texts)
    rows = [
        {
            "object": "embedding",
            "index": index,
            "embedding": base64.b64encode(row.astype("<f4").tobytes()).decode()
            if encoding == "base64"
            else row.tolist(),
        }
        for index, row in enumerate(vectors)
    ]
    tokens = sum(count_tokens(text) for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    answer = {"object": "list", "data": rows, "model": embedder.name, "usage": usage}
    return JSONResponse(answer)


def _texts(given: Any) -> list[str]:
    if isinstance(given, str):
        return [given]
    if not isinstance(given, list) or not given:
        raise _refused("expected a text or a list of texts")
    if any(isinstance(entry, int | list) for entry in given):
        raise _refused("lists of tokens are not possible with the embedded model; send texts")
    if not all(isinstance(entry, str) for entry in given):
        raise _refused("expected a text or a list of texts")
    if len(given) > MAX_TEXTS:
        raise _refused(f"at most {MAX_TEXTS} texts at a time")
    return given


def _refused(reason: str) -> GatewayError:
    return GatewayError(400, f"input: {reason}.", param="input")
