"""`smart-context sessions`: list, end, link."""

from datetime import datetime
from pathlib import Path

import click

from smart_context.base.text.names import shown
from smart_context.base.text.scores import counted
from smart_context.base.times import utc_stamp
from smart_context.cli.terminal.arguments import vault_argument, vault_root
from smart_context.cli.terminal.failures import BadUsage
from smart_context.cli.terminal.output import json_format, say, show, table


@click.group(invoke_without_command=True)
@click.pass_context
def sessions(context: click.Context) -> None:
    """List and end browser sessions, or let in another browser.

    A start link lets one browser in. Its session lasts until you end it, or until it is unused
    for 30 days. Without --token, sessions end with the server.
    """
    if context.invoked_subcommand is None:
        context.invoke(list_, output="text")


@sessions.command("list")
@json_format
def list_(output: str) -> None:
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
    show(rows, output, lambda: _as_text(rows))


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


def _as_text(rows: list[dict[str, str]]) -> str:
    if not rows:
        return "No browser has been let in. For a start link: smart-context sessions link"
    return table(
        ("SESSION", "BROWSER", "LAST SEEN", "VAULT"),
        [(row["id"], row["browser"], _local(row["seen_at"]), row["vault"]) for row in rows],
    )


def _local(moment: str) -> str:
    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M")
