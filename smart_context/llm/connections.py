"""The connections in use, and the endpoint for a chat's choice of a model. Pure.

A choice is stored as text: `ID/MODEL` names a connection and one of its models. Choices of earlier
versions still work: a category (`fast`), and a model at a category's endpoint (`chat/gpt-4o`,
`http://127.0.0.1:11434/v1/llama3`).
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from urllib.parse import urlsplit

from smart_context.base.config import Connection, EndpointSettings, VaultConfig
from smart_context.base.config.endpoints import is_connection_id
from smart_context.llm.providers import LOCAL_SERVERS, PROVIDERS

_NOT_OF_IDS = re.compile("[^a-z0-9]+")
_LONGEST_ID = 60
_NAMES = {provider.base_url: provider.name for provider in (*PROVIDERS, *LOCAL_SERVERS)}


def connections_of(config: VaultConfig) -> tuple[Connection, ...]:
    """The connections whose models a chat may choose; the default model's one comes first.

    Endpoints in the settings outside of connections count as connections, too.
    """
    named = [endpoint for endpoint in (config.chat, config.fast) if endpoint is not None]
    found = _with_endpoints([*config.connections.values()], named)
    return tuple(
        sorted(found, key=lambda one: not config.chat or not is_at(one.endpoint, config.chat))
    )


def all_connections(config: VaultConfig) -> tuple[Connection, ...]:
    """The connections in use, including the ones that no chat may choose."""
    found = connections_of(config)
    return (*_with_endpoints([*found], [config.embedding] if config.embedding else []),)


def _with_endpoints(
    found: list[Connection], endpoints: Collection[EndpointSettings]
) -> list[Connection]:
    for endpoint in endpoints:
        if not any(is_at(one.endpoint, endpoint) for one in found):
            taken = {one.id for one in found}
            made = Connection(
                id=free_id(name_of(endpoint.base_url), taken),
                name=name_of(endpoint.base_url),
                endpoint=endpoint,
            )
            found = [*found, made]
    return found


def is_at(one: EndpointSettings, other: EndpointSettings) -> bool:
    """True if both are reached in the same way; their models may differ."""
    return (one.base_url, one.api_key_env) == (other.base_url, other.api_key_env)


def name_of(base_url: str) -> str:
    """A name for people: the provider's, or the host."""
    return _NAMES.get(base_url) or urlsplit(base_url).netloc or base_url


def free_id(name: str, taken: Collection[str]) -> str:
    """A free id for a connection of this name."""
    plain = _NOT_OF_IDS.sub("-", name.lower()).strip("-")[:_LONGEST_ID] or "server"
    candidates = (plain, *(f"{plain}-{number}" for number in range(2, len(taken) + 4)))
    return next(one for one in candidates if one not in taken and is_connection_id(one))


def endpoint_of_choice(config: VaultConfig, choice: str) -> EndpointSettings | None:
    """The endpoint and model of a choice; `None` for the default, or if the settings have none.

    Only endpoints in use can be chosen; the user has trusted the ones that a vault brings.
    """
    if not choice:
        return None
    known = {"chat": config.chat, "fast": config.fast}
    if choice in known:
        return known[choice]
    for prefix, endpoint in _prefixes(config):
        model = choice.removeprefix(prefix)
        if model and model != choice:
            return model_at(config, endpoint, model)
    return next((e for e in _choosable(config) if e.model == choice), None)


def _prefixes(config: VaultConfig) -> Iterator[tuple[str, EndpointSettings]]:
    """The prefixes of choices, each with its endpoint."""
    connections = connections_of(config)
    for connection in connections:
        yield f"{connection.id}/", connection.endpoint
    for name, endpoint in (("chat", config.chat), ("fast", config.fast)):
        if endpoint is not None:
            yield f"{name}/", endpoint
    for connection in connections:
        yield f"{connection.endpoint.base_url}/", connection.endpoint


def _choosable(config: VaultConfig) -> Iterator[EndpointSettings]:
    """The endpoints with the models that the settings name for them."""
    yield from filter(None, (config.chat, config.fast))
    yield from (connection.endpoint for connection in connections_of(config))


def model_at(config: VaultConfig, endpoint: EndpointSettings, model: str) -> EndpointSettings:
    """A model of an endpoint, with the settings for it."""
    for named in _choosable(config):
        if named.model == model and is_at(named, endpoint):
            return named
    # The window in the settings belongs to the endpoint's own model.
    return replace(endpoint, model=model, context_window=None)


def models_named(config: VaultConfig, connection: Connection) -> list[str]:
    """The models of a connection in the settings, even if its server does not list them."""
    known = (config.chat, config.fast, connection.endpoint)
    named = (one.model for one in known if one and is_at(one, connection.endpoint))
    return [*dict.fromkeys(filter(None, named))]


def connection_at(config: VaultConfig, endpoint: EndpointSettings | None) -> Connection | None:
    """The connection that an endpoint belongs to; `None` for the embedded model."""
    found = (one for one in all_connections(config) if endpoint and is_at(one.endpoint, endpoint))
    return next(found, None)
