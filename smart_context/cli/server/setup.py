"""`smart-context init` and `doctor`."""

import asyncio
import sys
from pathlib import Path

import click

from smart_context.base.config import starter_config
from smart_context.base.disk.files import atomic_write
from smart_context.base.errors import CommandFailed
from smart_context.base.text.names import shown
from smart_context.cli.terminal.arguments import CONFIG_NAME, vault_argument, vault_root
from smart_context.cli.terminal.failures import FAILED
from smart_context.cli.terminal.output import json_format, say, show

_SIGNS = {"ok": "✓", "note": "·", "failed": "✗"}


@click.command()
@vault_argument
def init(vault: Path | None) -> None:
    """Write a commented .vault.toml into VAULT, a folder of notes.

    An existing file is not changed.
    """
    if vault is not None:
        vault.mkdir(parents=True, exist_ok=True)
    path = (vault or Path.cwd()).resolve() / CONFIG_NAME
    if path.exists():
        raise CommandFailed(
            f"{shown(path)} exists already and was not changed. Check it with: smart-context doctor"
        )
    atomic_write(path, starter_config().encode())
    say(f"Wrote {shown(path)}\n\nNext: open it in an editor, then run: smart-context doctor")


@click.command()
@vault_argument
@click.option(
    "--prove",
    "wants_proof",
    is_flag=True,
    help="Hash all files, read the vault in every way, and compare the hashes.",
)
@json_format
def doctor(vault: Path | None, wants_proof: bool, output: str) -> None:
    """Check config, models, write access, caches and plugins; say what to do.

    Only the vault's memory folder may change; --prove checks that nothing else does. The exit
    code is 1 when something needs attention.
    """
    from smart_context.app.examination import examine  # noqa: PLC0415 - keeps --help fast

    root = vault_root(vault)
    findings = asyncio.run(examine(root))
    if wants_proof:
        from smart_context.app.examination import prove  # noqa: PLC0415 - only when asked for

        findings.append(asyncio.run(prove(root)).as_finding())
    rows = [
        {"what": f.what, "state": f.state, "found": f.found, "next": f.next_step} for f in findings
    ]
    show(
        rows,
        output,
        lambda: "\n".join(
            f"{_SIGNS[row['state']]} {row['what']}: {row['found']}"
            + (f"\n    → {row['next']}" if row["next"] else "")
            for row in rows
        ),
    )
    if any(row["state"] == "failed" for row in rows):
        sys.exit(FAILED)
