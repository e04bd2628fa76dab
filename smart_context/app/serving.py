"""Serves a vault: host, pages and socket in one process, until a signal ends it."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

from smart_context.app.browsers import session_file
from smart_context.app.composition import composed, make_host, models_of, read_vault
from smart_context.app.status import register_status
from smart_context.config import CONFIG_NAME, VaultConfig
from smart_context.errors import ConfigInvalid
from smart_context.host.host import Host
from smart_context.web.access import Access
from smart_context.web.pages import page_routes
from smart_context.web.plugin_panels import panel_routes
from smart_context.web.routes import create_web_app
from smart_context.web.security import check_exposure
from smart_context.web.server import serve
from smart_context.web.session_book import SessionBook
from smart_context.web.uploads import file_routes

_logger = logging.getLogger(__name__)


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
        root: The vault.
        host: The address to bind.
        port: The port to bind; 0 takes any free one.
        token: The user's secret; `None` makes a new one.
        on_ready: Called once requests are answered, with what makes start links.

    Raises:
        ConfigInvalid: If `.vault.toml` has faults.
        CommandFailed: If the address can't be bound, or needs a token that was not given.
    """
    check_exposure(host, token)
    async with composed(read_vault(root)) as parts, AsyncExitStack() as replaced:
        vault_host = make_host(parts, repairs=True)
        register_status(vault_host)
        pages = [
            *page_routes(vault_host, vault_host.children.texts),
            *panel_routes(vault_host.panels),
            *file_routes(vault_host.files),
        ]
        app = create_web_app(
            vault_host, access=_access(root, token), allowed_hosts=[host], pages=pages
        )
        watching = asyncio.create_task(_follow_config(root, vault_host, replaced))
        try:
            await serve(app, host, port, on_ready)
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)


def _access(root: Path, token: str | None) -> Access:
    book = SessionBook(str(root.resolve()), session_file(), outlives_server=bool(token))
    return Access(token, book)


async def _follow_config(root: Path, host: Host, replaced: AsyncExitStack) -> None:
    """Take up `.vault.toml` whenever it changes; with faults the former settings go on."""
    from watchfiles import awatch  # noqa: PLC0415 - the first page need not wait for it

    def is_config(_change: object, path: str) -> bool:
        return Path(path).name == CONFIG_NAME

    async for _ in awatch(root, recursive=False, watch_filter=is_config):
        try:
            config = await asyncio.to_thread(read_vault, root)
        except ConfigInvalid as error:
            host.report_faults(error.faults)
            continue
        await _take_up(config, host, replaced)


async def _take_up(config: VaultConfig, host: Host, replaced: AsyncExitStack) -> None:
    former = host.config
    if (config.chat, config.fast, config.embedding) == (
        former.chat,
        former.fast,
        former.embedding,
    ):
        await host.reload(config)
    else:
        await host.reload(config, await replaced.enter_async_context(models_of(config, host.notes)))
    _logger.info("settings taken up from %s", config.path)
