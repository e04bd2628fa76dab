"""`system.find_models` and `system.test_model`: connecting a model without an editor."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal
from urllib.parse import urlsplit

from smart_context.app.settings import known_providers
from smart_context.base.config import EndpointSettings
from smart_context.base.config.endpoints import AddressRefused, plain_address
from smart_context.base.config.provider_keys import provider_keys
from smart_context.base.environment import environment
from smart_context.base.errors import CommandFailed, InvalidParams, ModelFailed
from smart_context.base.values import JsonObject
from smart_context.host.commands.registry import Caller, check_owner
from smart_context.host.host import Host
from smart_context.llm.openai.trial import Trial, list_models, try_chat_model, try_embedding_model
from smart_context.llm.providers import LOCAL_SERVERS, Provider

_LOCAL_S = 2.0
_FIELDS = frozenset({"base_url", "model", "api_key", "api_key_env"})


class ModelCommands:
    """The page's commands about models."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def register(self) -> None:
        """Register the commands."""
        self._host.commands.register("system.find_models", self.find_models)
        self._host.commands.register("system.test_model", self.test_model)
        self._host.commands.register("system.models", self.models)

    async def find_models(
        self, caller: Caller, endpoint: dict[str, Any] | None = None
    ) -> JsonObject:
        """Look for servers on this machine, or list the models of one endpoint.

        Args:
            endpoint: `base_url`, and `api_key` or `api_key_env`: list its models. Without it, the
                usual ports of this machine are asked; nothing is sent elsewhere.
        """
        check_owner(caller.person)
        if endpoint is not None:
            asked = await asyncio.to_thread(endpoint_of, endpoint)
            return await _listed(asked)
        return {"servers": await servers_here(), "providers": known_providers()}

    async def models(self, caller: Caller) -> JsonObject:
        """List the models that a chat can choose, as the connected providers tell them."""
        check_owner(caller.person)
        config = self._host.default_config
        connected = {"chat": config.chat, "fast": config.fast}
        found = {name: endpoint for name, endpoint in connected.items() if endpoint}
        listed: dict[str, str] = {}
        asked: set[str] = set()
        for name, endpoint in found.items():
            listed.setdefault(endpoint.model, name)
            if endpoint.base_url not in asked:
                asked.add(endpoint.base_url)
                try:
                    others = await models_at(endpoint)
                except ModelFailed:
                    others = []  # the models of the settings can still be chosen
                for model in others:
                    listed.setdefault(model, f"{name}/{model}")
        rows = [{"model": model, "name": name} for name, model in listed.items()]
        return {"default": config.chat.model if config.chat else "", "models": rows}

    async def test_model(
        self,
        caller: Caller,
        category: Literal["chat", "fast", "embedding"] = "chat",
        endpoint: dict[str, Any] | None = None,
    ) -> JsonObject:
        """Ask a model for a few words: does it answer, how fast, and what can it do?

        Args:
            category: The model to ask, if no endpoint is given.
            endpoint: `base_url`, `model`, and `api_key` or `api_key_env`.
        """
        check_owner(caller.person)
        if endpoint is not None:
            asked = await asyncio.to_thread(endpoint_of, endpoint)
            if not asked.model:
                raise CommandFailed("Choose a model of this endpoint first.")
        else:
            in_use: EndpointSettings | None = getattr(self._host.config, category)
            if in_use is None:
                return {"ok": True, "model": "embedded", "base_url": "", "problem": ""}
            asked = in_use
        return (await tried(asked, category)).row()


async def tried(endpoint: EndpointSettings, category: str) -> Trial:
    """Ask the model of a category for a few words, or for a vector."""
    trial = try_embedding_model if category == "embedding" else try_chat_model
    return await trial(endpoint)


async def models_at(endpoint: EndpointSettings) -> list[str]:
    """The ids of an endpoint's models.

    Raises:
        ModelFailed: If it does not answer, refuses, or its answer is no list of models.
    """
    return await list_models(endpoint)


async def _listed(endpoint: EndpointSettings) -> JsonObject:
    """The models of an endpoint, at its address or, where that has no path, at its `/v1`."""
    try:
        return {"base_url": endpoint.base_url, "models": await models_at(endpoint)}
    except ModelFailed:
        if urlsplit(endpoint.base_url).path:
            raise
        below = replace(endpoint, base_url=f"{endpoint.base_url}/v1")
        with suppress(ModelFailed):
            return {"base_url": below.base_url, "models": await models_at(below)}
        raise


async def servers_here() -> list[JsonObject]:
    """The servers that answer at their usual ports of this machine, with their models."""
    found = await asyncio.gather(*map(_server, LOCAL_SERVERS))
    return [server for server in found if server]


async def _server(server: Provider) -> JsonObject | None:
    """A server on this machine with its models; `None` if none answers."""
    try:
        models = await list_models(
            EndpointSettings(base_url=server.base_url, model=""), timeout_s=_LOCAL_S
        )
    except ModelFailed:
        return None
    return {"name": server.name, "base_url": server.base_url, "models": models}


def endpoint_of(given: Mapping[str, Any]) -> EndpointSettings:
    """The endpoint that a form describes, with its key; blocks.

    Raises:
        InvalidParams: If it is not one.
    """
    wrong = [name for name, value in given.items() if not isinstance(value, str)]
    if wrong or not given.keys() <= _FIELDS:
        raise InvalidParams(f"An endpoint has texts under {', '.join(sorted(_FIELDS))} only.")
    try:
        base_url = plain_address(given.get("base_url", "").strip()).rstrip("/")
    except AddressRefused as refusal:
        raise InvalidParams(f"The address can't be used: {refusal}") from None
    known = EndpointSettings(
        base_url=base_url,
        model=given.get("model", "").strip(),
        api_key_env=given.get("api_key_env", ""),
    ).with_key(environment(), provider_keys().of)
    if key := given.get("api_key", "").strip():
        return EndpointSettings(base_url=base_url, model=known.model, api_key=key)
    return known
