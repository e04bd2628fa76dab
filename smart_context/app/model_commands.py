"""The commands about models: finding, testing, connecting and disconnecting, without an editor."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from smart_context.app.composition import read_vault
from smart_context.app.connecting import connect, disconnect, use_model
from smart_context.app.following import Follower
from smart_context.app.settings import known_providers
from smart_context.base.config import EndpointSettings, VaultConfig
from smart_context.base.config.addresses import AddressRefused, plain_address
from smart_context.base.config.endpoints import EMBEDDED
from smart_context.base.config.provider_keys import provider_keys
from smart_context.base.environment import environment
from smart_context.base.errors import (
    CommandFailed,
    ConfigInvalid,
    InvalidParams,
    ModelFailed,
    shortened,
)
from smart_context.base.values import JsonObject
from smart_context.host.commands.registry import Caller, check_owner
from smart_context.host.host import Host
from smart_context.llm.connections import all_connections, connections_of, is_at, models_named
from smart_context.llm.offers import Offers
from smart_context.llm.openai.trial import (
    EndpointTrial,
    asked_models,
    list_models,
    try_chat_model,
    try_embedding_model,
)
from smart_context.llm.providers import LOCAL_SERVERS, Provider

T = TypeVar("T")

_LOCAL_S = 2.0
_FIELDS = frozenset({"base_url", "model", "api_key", "api_key_env"})


class ModelCommands:
    """The page's commands about models."""

    def __init__(self, host: Host, follower: Follower) -> None:
        self._host = host
        self._follower = follower

    def register(self) -> None:
        """Register the commands."""
        self._host.commands.register("system.find_models", self.find_models)
        self._host.commands.register("system.test_model", self.test_model)
        self._host.commands.register("system.models", self.models)
        self._host.commands.register("system.connect", self.connect)
        self._host.commands.register("system.use_model", self.use_model)
        self._host.commands.register("system.disconnect", self.disconnect)

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
        """List the connections, and the models that a chat can choose, as their servers tell them.

        A connection's `state` is `answers`, `refuses` (it does not take the key), `unreachable`, or
        `unchecked`; `last_answered` is null until it has answered a question.
        """
        check_owner(caller.person)
        config = self._host.default_config
        rows = await connection_rows(config, self._host.offers)
        return {
            "default": config.chat.model if config.chat else "",
            "models": [
                {"model": f"{row['id']}/{model}", "name": model, "connection": row["id"]}
                for row in rows[: len(connections_of(config))]
                for model in row["models"]
            ],
            "connections": rows,
        }

    async def connect(
        self,
        endpoint: dict[str, Any],
        caller: Caller,
        name: str = "",
        scope: Literal["user", "vault"] = "user",
        answers: bool = True,
    ) -> JsonObject:
        """Add a connection to those that are there; without a model nothing changes.

        Args:
            endpoint: `base_url`, `model`, and `api_key` or `api_key_env`. An existing connection to
                the same address is changed.
            name: Its name; by default that of its provider or host.
            scope: The file: `user`, for all vaults, or `vault`.
            answers: True if the model answers from now on; otherwise chats can choose it.
        """
        check_owner(caller.person)
        asked = await asyncio.to_thread(endpoint_of, endpoint)
        made = await self._change(
            connect, asked, endpoint.get("api_key", ""), name=name, scope=scope, answers=answers
        )
        return {"connection": made}

    async def use_model(
        self,
        category: Literal["chat", "fast", "embedding"],
        caller: Caller,
        model: str | None = None,
        scope: Literal["user", "vault"] = "user",
    ) -> JsonObject:
        """Choose the model of a category; without one, the built-in one is used.

        Args:
            model: A connection and its model, as in `chat.set_model`.
            scope: The file: `user`, for all vaults, or `vault`.
        """
        check_owner(caller.person)
        await self._change(use_model, model or EMBEDDED, category, scope)
        return {"category": category, "model": model}

    async def disconnect(self, connection: str, caller: Caller) -> JsonObject:
        """Remove a connection and forget its key; the others stay.

        Args:
            connection: Its id, as `system.models` gives it.
        """
        check_owner(caller.person)
        await self._change(disconnect, connection)
        config = self._host.default_config
        return {"disconnected": connection, "default": config.chat.model if config.chat else ""}

    async def _change(self, change: Callable[..., T], *args: Any, **named: Any) -> T:
        root = self._host.config.root
        try:
            result = await asyncio.to_thread(change, root, *args, **named)
        except ConfigInvalid as error:
            raise InvalidParams("; ".join(map(str, shortened(error.faults)))) from error
        await self._follower.load_now()
        return result

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


async def connection_rows(config: VaultConfig, offers: Offers) -> list[JsonObject]:
    """The connections, as their servers answer now; those that chats can choose come first."""
    every = all_connections(config)
    offered = await asyncio.gather(*(offers.look(one.endpoint) for one in every))
    rows: list[JsonObject] = []
    for connection, offer in zip(every, offered, strict=True):
        own = models_named(config, connection)
        row = {
            "id": connection.id,
            "name": connection.name,
            "base_url": connection.endpoint.base_url,
            "models": [*own, *(model for model in offer.models if model not in own)],
            "state": offer.state,
            "last_answered": offers.last_answered(connection.endpoint),
            "is_default": config.chat is not None and is_at(connection.endpoint, config.chat),
        }
        rows.append(row)
    return rows


async def connections_now(root: Path) -> list[JsonObject]:
    """The connections of the vault at `root`, for one use on the command line."""
    config = await asyncio.to_thread(read_vault, root)
    return await connection_rows(config, Offers(asked_models))


async def tried(endpoint: EndpointSettings, category: str) -> EndpointTrial:
    """Ask the model of a category for a few words, or for a vector."""
    trial = try_embedding_model if category == "embedding" else try_chat_model
    return await trial(endpoint)


async def models_at(endpoint: EndpointSettings) -> list[str]:
    """The ids of an endpoint's models.

    Raises:
        ModelFailed: If it does not answer, refuses, or answers something else.
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
        InvalidParams: If the form is invalid.
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
