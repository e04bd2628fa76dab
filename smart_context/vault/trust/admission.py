"""Selects the endpoints in use: a vault's only if they are trusted."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace

from smart_context.base.config import CATEGORIES, EndpointSettings, UserConfig, VaultConfig
from smart_context.base.config.access import AccessSettings
from smart_context.base.config.storage import IN_FILES, StorageSettings
from smart_context.vault.trust.parts import Grant, Pin

AGENTS_PIN = Pin("agents")
"""The pin of a vault's wish that agents may change filters."""


def admitted(
    config: VaultConfig,
    user: UserConfig,
    grant: Grant,
    environ: Mapping[str, str],
    stored_key: Callable[[str], str | None] = lambda _: None,
) -> VaultConfig:
    """The settings with the endpoints in use, each with its key.

    An endpoint that the vault names comes before the user's own, in the categories that it is
    trusted for. The key of an untrusted one is not even looked up. A vault that wants an embedded
    model gets it.

    Args:
        user: The user's settings for all vaults.
        grant: The user's grant to this vault.
        environ: The environment with the keys.
        stored_key: Gives the key that the user entered for a base URL.
    """
    restricted = frozenset(
        category
        for category, endpoint in config.named.items()
        if endpoint is not None and endpoint_pin(category, endpoint) not in grant.pins
    )
    chosen = {
        **user.endpoints,
        **{name: named for name, named in config.named.items() if name not in restricted},
    }
    in_use = {
        category: (found := chosen.get(category)) and found.with_key(environ, stored_key)
        for category in CATEGORIES
    }
    named = config.named_instructions
    is_told = not named or instructions_pin(named) in grant.pins
    return replace(
        config,
        instructions=named if named and is_told else user.instructions,
        agents_may_write=_may_agents_write(config, user, grant),
        chat=in_use["chat"],
        fast=in_use["fast"],
        embedding=in_use["embedding"],
        user_roles=user.roles,
        restricted=restricted,
        prices=config.prices if config.prices.by_pattern else user.prices,
        storage=_storage(config, user, grant),
        cache_ttl_s=user.cache_ttl_s if config.cache_ttl_s is None else config.cache_ttl_s,
        access=_access(config, user, grant),
    )


def _may_agents_write(config: VaultConfig, user: UserConfig, grant: Grant) -> bool:
    """What the user says; a vault may forbid it, but allow it only if it is trusted with that."""
    named = config.named_agents_may_write
    if named is None:
        return user.agents_may_write
    return named and (user.agents_may_write or AGENTS_PIN in grant.pins)


def _storage(config: VaultConfig, user: UserConfig, grant: Grant) -> StorageSettings:
    """What a trusted vault says, else what the user says."""
    named = config.named_storage
    return named if named != IN_FILES and storage_pin(named) in grant.pins else user.storage


def storage_pin(storage: StorageSettings) -> Pin:
    """The pin of the database that a vault names; its password is nobody's record's."""
    return Pin("storage", storage.shown)


def _access(config: VaultConfig, user: UserConfig, grant: Grant) -> AccessSettings:
    """What a trusted vault says, else what the user says.

    One that is not trusted may name a proxy on this machine, but no provider and no other machine.
    """
    named = config.named_access
    if named is None:
        return user.access
    if access_pin(named) in grant.pins or not asks_for_trust(named):
        return named
    return named.from_this_machine


def asks_for_trust(named: AccessSettings) -> bool:
    """True if it reaches further than a vault may without the user's trust."""
    return named != named.from_this_machine


def access_pin(access: AccessSettings) -> Pin:
    """The pin of how a vault wants its server to know who asks."""
    return Pin("access", access.digest)


def endpoint_pin(category: str, endpoint: EndpointSettings) -> Pin:
    """The pin of an endpoint for one category of models."""
    return Pin("endpoint", endpoint.base_url, endpoint.api_key_env, category)


def instructions_pin(text: str) -> Pin:
    """The pin of the instructions that a vault brings."""
    return Pin("instructions", hashlib.sha256(text.encode()).hexdigest())
