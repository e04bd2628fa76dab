"""Finds the vault that a verb is about."""

from pathlib import Path

import click

from smart_context.base.text.names import shown

CONFIG_NAME = ".vault.toml"

vault_argument = click.argument(
    "vault", required=False, type=click.Path(path_type=Path, file_okay=False)
)
vault_option = click.option(
    "--vault",
    type=click.Path(path_type=Path, file_okay=False),
    help="The vault's folder. Default: the one you are in.",
)


def vault_root(named: Path | None) -> Path:
    """The given folder, else the nearest one upwards with a `.vault.toml`, else this one.

    Raises:
        click.BadParameter: If the folder does not exist; exit code 2.
    """
    if named is not None:
        if not named.is_dir():
            raise click.BadParameter(
                f"{shown(named)} is not a folder. Name the folder that holds your notes.",
                param_hint="VAULT",
            )
        return named.resolve()
    here = Path.cwd()
    return next((p for p in (here, *here.parents) if (p / CONFIG_NAME).is_file()), here)
