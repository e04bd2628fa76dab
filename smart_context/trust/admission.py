"""Which endpoints are in use: those that the vault names as far as they are trusted."""

from collections.abc import Mapping
from dataclasses import replace

from smart_context.config import CATEGORIES, EndpointSettings, UserConfig, VaultConfig
from smart_context.trust.parts import Grant, Pin


def admitted(
    config: VaultConfig, user: UserConfig, grant: Grant, environ: Mapping[str, str]
) -> VaultConfig:
    """The settings with the endpoints that may be asked, each with its key.

    A vault's endpoint comes before the user's own once it is trusted; until then its key is not
    even looked up. A vault that wants an embedded model gets it.

    Args:
        config: What the vault says.
        user: What the user has set for all vaults.
        grant: What the user has granted to this vault.
        environ: Where keys are.
    """
    restricted = frozenset(
        category
        for category, endpoint in config.named.items()
        if endpoint is not None and endpoint_pin(endpoint) not in grant.pins
    )
    chosen = {
        **user.endpoints,
        **{name: found for name, found in config.named.items() if name not in restricted},
    }
    in_use = {
        category: None if (endpoint := chosen.get(category)) is None else endpoint.with_key(environ)
        for category in CATEGORIES
    }
    return replace(
        config,
        chat=in_use["chat"],
        fast=in_use["fast"],
        embedding=in_use["embedding"],
        user_roles=user.roles,
        restricted=restricted,
    )


def endpoint_pin(endpoint: EndpointSettings) -> Pin:
    """What consent to an endpoint is given to."""
    return Pin("endpoint", endpoint.base_url, endpoint.api_key_env)
