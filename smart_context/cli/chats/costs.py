"""`smart-context costs`: what the chats of a vault cost."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from smart_context.base.text.names import one_line
from smart_context.cli.chats.asking import ask
from smart_context.cli.terminal.output import json_format, show, table
from smart_context.cli.terminal.vault import vault_argument, vault_root


@click.command()
@vault_argument
@click.option(
    "--by",
    type=click.Choice(["day", "model", "chat", "client"]),
    default="day",
    show_default=True,
    help="What to sum up by.",
)
@json_format
def costs(vault: Path | None, by: str, output: str) -> None:
    """Sum up what the chats of VAULT sent, what the filter saved, and the money.

    Money needs prices: [llm.prices] in your config.toml or the vault's file.
    """
    found = ask(vault_root(vault), "smart_context.costs", by=by)
    show(found, output, lambda: _as_text(found, by))


def _as_text(found: Mapping[str, Any], by: str) -> str:
    if not found["total"]["turns"]:
        return "No costs yet: each answer adds some."
    listed = [
        *((_name(row, by), row) for row in found[f"by_{by}"]),
        ("total", found["total"]),
    ]
    rows = [
        (
            f"{row['turns']:,}",
            f"{row['sent']:,}",
            f"{row['unchanged']:,}",
            f"{row['answered']:,}",
            f"{row['saved']:,}",
            _money(row, found["currency"]),
            name,
        )
        for name, row in listed
    ]
    heads = ("TURNS", "SENT", "UNCHANGED", "ANSWERED", "SAVED", "COST", by.upper())
    return "\n\n".join(filter(None, (table(heads, rows), *_notes(found))))


def _name(row: Mapping[str, Any], by: str) -> str:
    if by == "chat":
        return one_line(f"{row['title']} ({row['chat']})")
    return one_line(row[by]) or ("the page" if by == "client" else "unknown")


def _money(row: Mapping[str, Any], currency: str) -> str:
    if row["price"] is None:
        return "unknown"
    return f"{'at least ' if row['unpriced'] else ''}{row['price']:,.4f} {one_line(currency)}"


def _notes(found: Mapping[str, Any]) -> list[str]:
    total = found["total"]
    notes = []
    if total["estimated"]:
        notes.append(
            f"In {total['estimated']:,} of {total['turns']:,} turns the endpoint did not count: "
            "SENT is estimated there, and ANSWERED left out."
        )
    if not found["has_prices"]:
        notes.append("For money, set prices under [llm.prices] in your config.toml.")
    return notes
