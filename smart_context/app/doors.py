"""Chooses how a server knows who asks, as `[access]` says."""

import importlib.util
import logging

from smart_context.app.browsers import key_file
from smart_context.base.config import VaultConfig
from smart_context.base.config.access import AccessSettings
from smart_context.base.environment import environment
from smart_context.base.errors import CommandFailed
from smart_context.storage.ports import Storage
from smart_context.web.gate.access import Access
from smart_context.web.gate.door import AnyDoor, ClientDoor, Door
from smart_context.web.gate.proxy_door import ProxyDoor
from smart_context.web.gate.request_facts import Hosts
from smart_context.web.gate.throttle import Throttle

_log = logging.getLogger(__name__)


def check_access_settings(config: VaultConfig) -> None:
    """Refuse to serve a vault in whose way of letting people in something is wrong or missing.

    Raises:
        CommandFailed: With what to do.
    """
    named, used = config.named_access, config.access
    if named is not None and named != used:
        advice = f"Review it, and run: smart-context trust {config.root}"
        if named.mode == "oidc":
            raise CommandFailed(
                f"{config.path} says who may open this vault; that counts once you trust it. "
                f"{advice}"
            )
        _log.warning(
            "[access] of %s counts only as far as this machine reaches. %s", config.path, advice
        )
    if used.mode != "oidc":
        return
    if importlib.util.find_spec("authlib") is None or importlib.util.find_spec("httpx2") is None:
        raise CommandFailed(
            "Logging in at a provider is not installed. Run: pip install 'smart-context[team]'"
        )
    if used.client_secret_env and not environment().get(used.client_secret_env):
        raise CommandFailed(
            f"[access] client_secret_env names {used.client_secret_env}, but that variable is not "
            "set. Set it to this server's secret at the provider"
        )


def door_of(settings: AccessSettings, access: Access, storage: Storage, hosts: Hosts) -> AnyDoor:
    """What decides who is let in.

    Args:
        settings: What `[access]` says.
        access: The server's own secrets; they open nothing where people log in.
        storage: Shared by all processes of the vault.
        hosts: Names and addresses that the server goes by.
    """
    throttle, keys = Throttle(), key_file(storage.records)
    if settings.mode == "proxy":
        return ProxyDoor(settings, ClientDoor(None, throttle, keys))
    if settings.mode == "token":
        return Door(access, throttle, keys)
    # authlib is an extra, and takes a tenth of a second to import.
    from smart_context.web.gate.oidc.oidc_door import OidcDoor  # noqa: PLC0415
    from smart_context.web.gate.oidc.provider import Provider, ProviderFailed  # noqa: PLC0415
    from smart_context.web.gate.oidc.signed_sessions import SignedSessions  # noqa: PLC0415

    secret = environment().get(settings.client_secret_env, "")
    pepper = f"{settings.issuer}\0{settings.client_id}\0{secret}"
    return OidcDoor(
        settings,
        Provider(settings, secret),
        ProviderFailed,
        SignedSessions(storage.vault_documents, pepper),
        clients=ClientDoor(None, throttle, keys),
        hosts=hosts,
        throttle=throttle,
    )
