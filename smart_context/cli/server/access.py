"""`smart-context keys`, `connect` and `sessions`: the ways to get access to a server."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from smart_context.base.installed import how_to_add
from smart_context.base.text.names import shown
from smart_context.base.text.scores import counted
from smart_context.base.times import utc_stamp
from smart_context.cli.terminal.arguments import vault_argument, vault_option, vault_root
from smart_context.cli.terminal.failures import BadUsage
from smart_context.cli.terminal.output import json_format, say, show, table

if TYPE_CHECKING:
    from smart_context.base.values import PersonId
    from smart_context.web.gate.client_keys import KeyFile

NEW_KEY = "smart-context keys new NAME"


@click.group()
def keys() -> None:
    """Create, list and revoke the keys of programs that use the API under /v1.

    A key opens the API and nothing else. Only its digest is kept, in your config folder.
    """


@keys.command()
@click.argument("name")
def new(name: str) -> None:
    """Create a key and print it; it can't be shown again."""
    file, person = _keys_here()
    say(file.new(name, person))


@keys.command("list")
@json_format
def list_keys(output: str) -> None:
    """List the keys by name."""
    file, person = _keys_here()
    rows = [
        {"name": name, "created_at": utc_stamp(key.created_at)}
        for name, key in sorted(file.read().of(person).items())
    ]
    show(rows, output, lambda: _keys_as_text(rows))


@keys.command()
@click.argument("name")
def revoke(name: str) -> None:
    """Remove a key. Running servers refuse it within 5 seconds."""
    file, person = _keys_here()
    file.revoke(name, person)
    say(f"Revoked the key {name!r}.")


def _keys_here() -> "tuple[KeyFile, PersonId]":
    """The keys, and the person whose keys this terminal makes, lists and revokes."""
    from smart_context.app import browsers  # noqa: PLC0415 - keeps --help fast

    return browsers.key_file(browsers.records_here()), browsers.person_of_this_terminal()


@click.command()
@click.argument("client", required=False)
@click.option("--model", default="MODEL", help="The model's id, as your provider names it.")
@vault_option
def connect(client: str | None, model: str, vault: Path | None) -> None:
    """Print the settings that connect CLIENT to Smart Context."""
    from smart_context.app.browsers import base_url  # noqa: PLC0415 - keeps --help fast
    from smart_context.gateway.connecting import CLIENTS  # noqa: PLC0415 - keeps --help fast

    address = base_url(vault_root(vault) if vault else None, vault_root(None))
    if client is None:
        names = "\n".join(f"  {name:<18}{setup.name}" for name, setup in CLIENTS.items())
        say(f"Base URL: {address}\nA key:    {NEW_KEY}\n\nsmart-context connect CLIENT\n{names}")
        return
    if client not in CLIENTS:
        raise BadUsage(f"There is no client {client!r} here; one of: {', '.join(CLIENTS)}")
    setup = CLIENTS[client]
    told = []
    if setup.lines:
        where = setup.where.replace("{key}", "KEY")
        told += [f"Base URL: {address}\nA key:    {NEW_KEY.replace('NAME', client)}"]
        told += [f"In {where}:", setup.filled(address, "KEY", model), setup.chat_id]
    if setup.tools:
        told += [f"To give it the vault as tools (MCP), in {setup.tools.where}:"]
        told += [setup.tools.local_lines(str(vault_root(vault)))]
        told += [f"This needs no server. It needs MCP; to add it: {how_to_add('mcp')}"]
    say("\n\n".join(told))


def _keys_as_text(rows: list[dict[str, str]]) -> str:
    if not rows:
        return f"There are no keys. For one: {NEW_KEY}"
    return table(("KEY", "CREATED"), [(row["name"], row["created_at"]) for row in rows])


@click.group(invoke_without_command=True)
@click.pass_context
def sessions(context: click.Context) -> None:
    """List and end browser sessions, or let in another browser.

    A start link lets one browser in. Its session lasts until you end it, or until it is unused
    for 30 days. Without --token, sessions end with the server.
    """
    if context.invoked_subcommand is None:
        context.invoke(list_sessions, output="text")


@sessions.command("list")
@json_format
def list_sessions(output: str) -> None:
    """List the browsers that were let in, of all vaults."""
    from smart_context.app.browsers import live_sessions  # noqa: PLC0415 - keeps --help fast

    rows = [
        {
            "id": session_id,
            "browser": session.browser,
            "seen_at": utc_stamp(session.seen_at),
            "created_at": utc_stamp(session.created_at),
            "vault": session.vault,
        }
        for session_id, session in live_sessions().items()
    ]
    show(rows, output, lambda: _sessions_as_text(rows))


@sessions.command()
@click.argument("ids", nargs=-1, metavar="[ID]…")
@click.option("--all", "wants_all", is_flag=True, help="End all sessions of all vaults.")
def end(ids: tuple[str, ...], wants_all: bool) -> None:
    """End sessions. Running servers shut them out within 5 seconds."""
    from smart_context.app.browsers import end_sessions  # noqa: PLC0415 - keeps --help fast

    if bool(ids) == wants_all:
        raise BadUsage("Name the sessions to end, or give --all; see: smart-context sessions list")
    count = end_sessions(None if wants_all else ids)
    say(f"Ended {counted(count, 'session')}.")


@sessions.command()
@vault_argument
def link(vault: Path | None) -> None:
    """Print a new start link for the running server, or for the one of VAULT.

    The link lets one browser in, once, within 10 minutes.
    """
    from smart_context.app.browsers import new_links  # noqa: PLC0415 - keeps --help fast

    links = new_links(vault_root(vault) if vault else None)
    for made in links:
        say(made.address if len(links) == 1 else f"{made.address}  {shown(made.vault)}")


def _sessions_as_text(rows: list[dict[str, str]]) -> str:
    if not rows:
        return "No browser has been let in. For a start link: smart-context sessions link"
    return table(
        ("SESSION", "BROWSER", "LAST SEEN", "VAULT"),
        [(row["id"], row["browser"], _local(row["seen_at"]), row["vault"]) for row in rows],
    )


def _local(moment: str) -> str:
    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M")
