"""Serves a vault: host, pages and socket in one process, until a signal ends it."""

import asyncio
import importlib.util
import logging
import secrets
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from starlette.applications import Starlette

from smart_context import __version__
from smart_context.app.browsers import ClientCommands, key_file, session_file
from smart_context.app.composition import composed, make_host, read_vault, settings_files
from smart_context.app.following import Follower, TrustCommands, stamps_of
from smart_context.app.import_commands import Imports
from smart_context.app.model_commands import ModelCommands
from smart_context.app.settings import SettingsCommands
from smart_context.base.config import VaultConfig
from smart_context.base.config.access import AccessSettings
from smart_context.base.environment import environment
from smart_context.base.errors import CommandFailed
from smart_context.base.installed import how_to_add
from smart_context.base.threads import in_daemon_thread
from smart_context.base.values import PersonId
from smart_context.chat.files.attached_file import AttachedFile
from smart_context.chat.messages import ChatId
from smart_context.gateway.edge.gateway import make_gateway
from smart_context.host.commands.registry import Caller
from smart_context.host.host import Host
from smart_context.llm.connections import all_connections, connection_at
from smart_context.llm.openai.connection import EndpointClient
from smart_context.mcp_server.endpoint import McpEndpoint
from smart_context.mcp_server.toolbox import Toolbox
from smart_context.storage.ports import SharedRecords, Storage
from smart_context.web.application import create_web_app
from smart_context.web.gate.access import GateSecrets
from smart_context.web.gate.door import AnyDoor, ClientDoor, Door, ProxyDoor
from smart_context.web.gate.gate import admitted
from smart_context.web.gate.request_facts import Hosts, check_exposure
from smart_context.web.gate.session_record import RECORD_OF_SESSIONS, SessionRecord
from smart_context.web.gate.sessions import SessionBook
from smart_context.web.gate.throttle import Throttle
from smart_context.web.pages.fragments import panel_routes
from smart_context.web.pages.pages import page_routes, unknown_address
from smart_context.web.pages.templates import compile_templates
from smart_context.web.routes import file_routes
from smart_context.web.server import serve

_log = logging.getLogger(__name__)


def check_access_settings(config: VaultConfig) -> None:
    """Refuse to serve a vault if its settings of `[access]` are untrusted, or lack a requirement.

    Raises:
        CommandFailed: If so; says what to do.
    """
    named, used = config.named_access, config.access
    if named is not None and named != used:
        advice = f"Review it, and run: smart-context trust {config.root}"
        if named.mode == "oidc":
            raise CommandFailed(
                f"{config.path} says who may open this vault; that counts once you trust it. "
                f"{advice}"
            )
        _log.warning("[access] of %s does not count as it is written. %s", config.path, advice)
    if used.mode != "oidc":
        return
    if importlib.util.find_spec("authlib") is None:
        raise CommandFailed(
            f"Logging in at a provider is not installed. To add it: {how_to_add('team')}"
        )
    if used.client_secret_env and not environment().get(used.client_secret_env):
        raise CommandFailed(
            f"[access] client_secret_env names {used.client_secret_env}, but that variable is not "
            "set. Set it to this server's secret at the provider"
        )


def door_of(
    settings: AccessSettings, access: GateSecrets, storage: Storage, hosts: Hosts
) -> AnyDoor:
    """The door that lets people in, of the kind that the settings choose.

    Args:
        settings: The settings in `[access]`.
        access: The server's own secrets, which open nothing if people log in.
        storage: Shared by all processes of the vault.
        hosts: The names and addresses of the server.
    """
    throttle, keys = Throttle(), key_file(storage.records)
    if settings.mode == "proxy":
        return ProxyDoor(settings, ClientDoor(None, throttle, keys))
    if settings.mode == "token":
        return Door(access, throttle, keys)
    # authlib is an extra, and takes a tenth of a second to import.
    from smart_context.web.gate.oidc.oidc_door import OidcDoor  # noqa: PLC0415
    from smart_context.web.gate.oidc.provider import LoginProvider  # noqa: PLC0415
    from smart_context.web.gate.oidc.signed_sessions import SignedSessions  # noqa: PLC0415

    secret = environment().get(settings.client_secret_env, "")
    pepper = f"{settings.issuer}\0{settings.client_id}\0{secret}"
    return OidcDoor(
        settings,
        LoginProvider(settings, secret),
        SignedSessions(storage.vault_documents, pepper),
        clients=ClientDoor(None, throttle, keys),
        hosts=hosts,
        throttle=throttle,
    )


async def serve_vault(
    root: Path,
    *,
    host: str,
    port: int,
    token: str | None,
    on_ready: Callable[[Callable[[], str]], None],
) -> None:
    """Serve the vault at `root` until SIGINT or SIGTERM.

    Args:
        port: The port to bind; 0 takes any free one.
        token: The user's secret; `None` makes a new one.
        on_ready: Called with the maker of start links once requests are answered.

    Raises:
        ConfigInvalid: If `.vault.toml` has faults.
        CommandFailed: If the address can't be bound, or needs a token.
    """
    stamps = stamps_of(settings_files(root))
    config = read_vault(root)
    check_access_settings(config)
    if not config.access.has_people:
        check_exposure(host, token)
    async with composed(config) as parts, AsyncExitStack() as replaced:
        vault_host = make_host(parts, repairs=True)
        follower = Follower(vault_host, stamps, parts.client, replaced)
        access = await _access(parts.config.root, token, parts.storage.records)
        app = vault_app(vault_host, follower, access, host, parts.client)
        beside = [asyncio.create_task(follower.run())]

        def ready(new_link: Callable[[], str]) -> None:
            on_ready(new_link)
            beside.append(asyncio.create_task(asyncio.to_thread(compile_templates)))

        try:
            await serve(app, host, port, ready)
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)


def vault_app(
    host: Host, follower: Follower, access: GateSecrets, address: str, client: EndpointClient
) -> Starlette:
    """The application that serves a vault, with every command and route of the product.

    Args:
        host: The vault's host, not started yet.
        address: A name or address besides loopback that `Host` headers may have.
        client: Asks providers for clients of the gateway.
    """
    register_status(host)
    TrustCommands(host, follower).register()
    SettingsCommands(host, follower).register()
    ModelCommands(host, follower).register()
    imports = Imports(host)
    imports.register()
    gateway = make_gateway(host, admitted, client)
    ClientCommands(host, gateway.activity).register()
    agents = McpEndpoint(Toolbox(host), lambda scope: Caller(admitted(scope).person))

    async def put(person: PersonId, name: str, content: bytes) -> AttachedFile:
        return await host.services.storage.for_person(person).blobs.put(name, content)

    pages = [
        *page_routes(host, host.services.children.texts, host.notes),
        *panel_routes(host.panels),
        *file_routes(put, host.reading),
        *imports.routes(),
        *gateway.routes(),
        *agents.routes(),
    ]
    settings = host.config.access
    hosts: Hosts = [address, *settings.hosts]
    app = create_web_app(
        host,
        access=access,
        allowed_hosts=hosts,
        pages=pages,
        door=door_of(settings, access, host.services.storage, hosts),
        closing=[gateway, agents, imports],
        not_found=unknown_address,
    )
    app.state.has_start_links = not settings.has_people
    return app


async def _access(root: Path, token: str | None, records: SharedRecords | None) -> GateSecrets:
    """The server's access; servers that share records share the browsers they let in."""
    if records is None:
        book = SessionBook(str(root), session_file(), outlives_server=bool(token))
        return GateSecrets(token, book)
    sessions = records.of("sessions", RECORD_OF_SESSIONS, SessionRecord())
    secret = records.of("secret", TypeAdapter(str), "")
    made = await in_daemon_thread(
        lambda: secret.update(lambda known: known or secrets.token_urlsafe(32)), name="secret"
    )
    book = SessionBook("team", session_file(), shared=sessions, outlives_server=True)
    return GateSecrets(token, book, secret=made[1])


EMBEDDED_EXTRACTOR = "embedded topic extractor"


def register_status(host: Host) -> None:
    """Register the command."""

    async def status(chat_id: ChatId | None = None) -> dict[str, Any]:
        """Give the vault, its models and the state of each plugin.

        Args:
            chat_id: Give the chat's own model, if it has one, in place of the default.
        """
        del chat_id  # used by the registry, which selects the chat's model
        config: VaultConfig = host.config
        connection = connection_at(config, config.chat)
        models = host.models
        window = host.window_of(config.chat)
        return {
            "version": __version__,
            "vault": config.name,
            "chat_model": models.chat.name,
            "chat_choice": f"{connection.id}/{models.chat.name}" if connection else "",
            "chat_connection": connection.name if connection else "",
            "fast_model": models.fast.name if models.fast else EMBEDDED_EXTRACTOR,
            "embedding_model": models.embedder.name,
            "connections": [one.id for one in all_connections(config)],
            "chat_is_embedded": models.chat_is_embedded,
            "chat_is_restricted": models.chat_is_embedded and "chat" in config.restricted,
            "chat_window": window.tokens if window else None,
            "chat_takes_images": config.chat is not None and config.chat.images,
            "settings_faults": len(host.faults),
            "plugins": [asdict(state) for state in host.plugins.states()],
        }

    host.commands.register("system.status", status)
