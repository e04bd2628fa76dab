"""Serves a vault: host, pages and socket in one process, until a signal ends it."""

import asyncio
import secrets
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from starlette.applications import Starlette

from smart_context import __version__
from smart_context.app.browsers import ClientCommands, session_file
from smart_context.app.composition import composed, make_host, read_vault, settings_files
from smart_context.app.doors import check_access_settings, door_of
from smart_context.app.following import Follower, TrustCommands, stamps_of
from smart_context.app.import_commands import Imports
from smart_context.app.model_commands import ModelCommands
from smart_context.app.settings import SettingsCommands
from smart_context.base.config import VaultConfig
from smart_context.base.threads import in_daemon_thread
from smart_context.gateway.edge.gateway import make_gateway
from smart_context.host.commands.registry import Caller
from smart_context.host.host import Host
from smart_context.host.request.window import window_of
from smart_context.llm.openai.connection import EndpointClient
from smart_context.mcp_server.endpoint import McpEndpoint
from smart_context.mcp_server.toolbox import Toolbox
from smart_context.storage.ports import SharedRecords
from smart_context.web.gate.access import Access
from smart_context.web.gate.gate import admitted
from smart_context.web.gate.request_facts import Hosts
from smart_context.web.gate.security import check_exposure
from smart_context.web.gate.sessions.browser_sessions import SessionRecord
from smart_context.web.gate.sessions.session_book import RECORD_OF_SESSIONS, SessionBook
from smart_context.web.pages.pages import page_routes, unknown_address
from smart_context.web.pages.plugin_panels import panel_routes
from smart_context.web.pages.templates import compile_templates
from smart_context.web.routes import create_web_app
from smart_context.web.server import serve
from smart_context.web.uploads import file_routes

_SWITCH_S = 0.001
"""How long a thread computes before it must let others; Python's default is 5 ms."""


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
        host: The address to bind.
        port: The port to bind; 0 takes any free one.
        token: The user's secret; `None` makes a new one.
        on_ready: Called with the maker of start links once requests are answered.

    Raises:
        ConfigInvalid: If `.vault.toml` has faults.
        CommandFailed: If the address can't be bound, or needs a token.
    """
    # Rendering four pages at once delayed everybody else by 0.4 s; with this, by 0.07 s.
    sys.setswitchinterval(_SWITCH_S)
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
    host: Host, follower: Follower, access: Access, address: str, client: EndpointClient
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
    ModelCommands(host).register()
    imports = Imports(host)
    imports.register()
    gateway = make_gateway(host, admitted, client)
    ClientCommands(host, gateway.activity).register()
    agents = McpEndpoint(Toolbox(host), lambda scope: Caller(admitted(scope).person))
    pages = [
        *page_routes(host, host.services.children.texts, host.notes),
        *panel_routes(host.panels),
        *file_routes(host.files, host.reading),
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


async def _access(root: Path, token: str | None, records: SharedRecords | None) -> Access:
    """Who is let in; where servers share records, a browser that one lets in is known to all."""
    if records is None:
        book = SessionBook(str(root), session_file(), outlives_server=bool(token))
        return Access(token, book)
    sessions = records.of("sessions", RECORD_OF_SESSIONS, SessionRecord())
    secret = records.of("secret", TypeAdapter(str), "")
    made = await in_daemon_thread(
        lambda: secret.update(lambda known: known or secrets.token_urlsafe(32)), name="secret"
    )
    book = SessionBook("team", session_file(), shared=sessions, outlives_server=True)
    return Access(token, book, secret=made[1])


EMBEDDED_EXTRACTOR = "embedded topic extractor"


def register_status(host: Host) -> None:
    """Register the command."""

    async def status() -> dict[str, Any]:
        """Give the vault, its models and the state of each plugin."""
        config: VaultConfig = host.config
        models = host.models
        window = window_of(config.chat)
        return {
            "version": __version__,
            "vault": config.name,
            "chat_model": models.chat.name,
            "fast_model": models.fast.name if models.fast else EMBEDDED_EXTRACTOR,
            "embedding_model": models.embedder.name,
            "chat_is_embedded": models.chat_is_embedded,
            "chat_is_restricted": models.chat_is_embedded and "chat" in config.restricted,
            "chat_window": window.tokens if window else None,
            "chat_takes_images": config.chat is not None and config.chat.images,
            "settings_faults": len(host.faults),
            "plugins": [asdict(state) for state in host.plugins.states()],
        }

    host.commands.register("system.status", status)
