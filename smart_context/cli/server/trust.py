"""`smart-context trust`: review what a vault wants, grant it, list it, revoke it."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from smart_context.base.errors import CommandFailed
from smart_context.base.text.names import shown
from smart_context.cli.terminal.arguments import vault_argument, vault_root
from smart_context.cli.terminal.output import ask, json_format, say, show

if TYPE_CHECKING:  # importing it would make --help slow
    from smart_context.vault.trust.parts import Grant, VaultPart


@click.command()
@vault_argument
@click.option("--yes", is_flag=True, help="Don't ask; needed without a terminal.")
@click.option("--list", "wants_list", is_flag=True, help="List all vaults that you trust.")
@click.option("--revoke", is_flag=True, help="Stop trusting VAULT; takes effect within seconds.")
@json_format
def trust(vault: Path | None, *, yes: bool, wants_list: bool, revoke: bool, output: str) -> None:
    """Review what VAULT asks for, and allow it.

    A vault may name endpoints, which get your chats and the value of an environment variable.
    It may also bring plugins (programs), roles and templates, and let git run. All of this is
    off until you trust it, and off again when it changes. The record is kept outside the vault.
    """
    if wants_list and (revoke or vault is not None):
        raise click.UsageError("--list lists all vaults; give it alone.")
    if wants_list:
        _list(output)
    elif revoke:
        _revoke(vault)
    else:
        _trust(vault_root(vault), yes=yes, output=output)


def _trust(root: Path, *, yes: bool, output: str) -> None:
    from smart_context.app.composition import read_vault, trust_of  # noqa: PLC0415 - see above
    from smart_context.vault.trust.views import review_view  # noqa: PLC0415 - see above

    vault_trust = trust_of(root)
    review = vault_trust.review(read_vault(root))
    view = review_view(review, root)
    if not review.restricted:
        show(view, output, lambda: _nothing_to_do(view))
        return
    if output == "text" or not yes:
        say("\n".join(_described(view)), err=True)
    if not yes:
        if not sys.stdin.isatty():
            raise CommandFailed("Nobody is there to ask; repeat with --yes to trust all of this.")
        ask("\nDo you trust this vault with all of it?")
    vault_trust.trust(review, tuple(part for part in review.restricted if not part.refused))
    if refused := tuple(part for part in review.restricted if part.refused):
        vault_trust.trust(review, refused)  # reports why it can't be trusted
    granted = review_view(vault_trust.review(read_vault(root)), root)
    show(granted, output, lambda: f"Trusted {view['vault']}.")


def _list(output: str) -> None:
    from smart_context.app.composition import trust_record  # noqa: PLC0415 - see above

    rows = [_row(root, grant) for root, grant in sorted(trust_record().vaults().items())]
    show(rows, output, lambda: "\n".join(map(_listed, rows)) or "You trust no vault yet.")


def _revoke(vault: Path | None) -> None:
    from smart_context.app.composition import trust_of  # noqa: PLC0415 - see above

    # A vault that is gone can be revoked, too.
    root = vault_root(None) if vault is None else vault.resolve()
    vault_trust = trust_of(root)
    if not vault_trust.grant().pins:
        say(f"{shown(str(root))} was not trusted; nothing has changed.")
        return
    vault_trust.revoke()
    say(f"{shown(str(root))} is not trusted any more.")


def _nothing_to_do(view: Mapping[str, Any]) -> str:
    if not view["parts"]:
        return f"{view['vault']} wants nothing that needs trust; there is nothing to trust."
    return f"All that {view['vault']} wants is trusted already and has not changed."


def _described(view: Mapping[str, Any]) -> list[str]:
    from smart_context.vault.trust.views import STATE_WORDS, in_words  # noqa: PLC0415 - see above

    lines = [f"{view['vault']} wants:"]
    for part in view["parts"]:
        lines += ["", f"  {part['title']}: {STATE_WORDS[part['state']]}", f"    {in_words(part)}"]
        for group in part["groups"]:
            if group["name"]:
                lines.append(f"    {group['name']}{'' if group['is_on'] else ' (turned off)'}")
            lines += [f"      {name}" for name in group["files"]]
        refused = "a link, not a plain file, or unreadable"
        lines += [f"      {name}: {refused}" for name in part["refused"]]
    return lines


def _row(root: Path, grant: "Grant") -> dict[str, Any]:
    from smart_context.vault.trust.parts import parts_of  # noqa: PLC0415 - see above

    return {
        "vault": shown(str(root)),
        "granted_at": shown(grant.granted_at),
        "parts": [_part_row(part) for part in parts_of(sorted(grant.pins))],
    }


def _part_row(part: "VaultPart") -> dict[str, Any]:
    from smart_context.base.config.addresses import displayed_address  # noqa: PLC0415 - see above

    pin = part.pin
    if pin.kind != "endpoint":
        return {"kind": pin.kind}
    return {
        "kind": pin.kind,
        "base_url": shown(displayed_address(pin.content)),
        "api_key_env": shown(pin.api_key_env),
        "used_for": list(part.used_for),
    }


def _listed(row: Mapping[str, Any]) -> str:
    from smart_context.vault.trust.views import purposes  # noqa: PLC0415 - see above

    lines = [f"{row['vault']} (since {row['granted_at']})"]
    for part in row["parts"]:
        address = (
            f" {part['base_url']} for {purposes(part['used_for'])}" if "used_for" in part else ""
        )
        key = f", with {part['api_key_env']}" if part.get("api_key_env") else ""
        lines.append(f"  {part['kind']}{address}{key}")
    return "\n".join(lines)
