"""`smart-context mcp`: the vault as tools for agents, on stdin and stdout."""

import importlib.util
from pathlib import Path

import click

from smart_context.base.errors import CommandFailed
from smart_context.base.event_loop import run
from smart_context.cli.terminal.vault import vault_argument, vault_root

INSTALL = "pip install 'smart-context[mcp]'"


@click.command()
@vault_argument
@click.option("--write", is_flag=True, help="Also let agents set filters, pin and hide messages.")
def mcp(vault: Path | None, write: bool) -> None:
    """Give agents the chats and notes of VAULT by MCP, on stdin and stdout.

    It works without the server and beside it. Agents only read, unless you allow more.
    """
    root = vault_root(vault)
    if importlib.util.find_spec("mcp") is None:
        raise CommandFailed(f"MCP is not installed. Run: {INSTALL}")
    run(_serve(root, write=write))


async def _serve(root: Path, *, write: bool) -> None:
    from smart_context.app.composition import running_host  # noqa: PLC0415 - keeps --help fast
    from smart_context.mcp_server.protocol import serve_stdio  # noqa: PLC0415 - the same
    from smart_context.mcp_server.toolbox import Toolbox  # noqa: PLC0415 - the same

    async with running_host(root) as host:
        await serve_stdio(Toolbox(host, is_writable=write))
