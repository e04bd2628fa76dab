"""`smart-context read`: files as assigns, with the same limits as for a model."""

import asyncio
from pathlib import Path

import click

from smart_context.base.text.names import encodable
from smart_context.cli.terminal.arguments import vault_option, vault_root
from smart_context.cli.terminal.output import deliver, json_format, show_json
from smart_context.vault.assigns import build_context_assign_string
from smart_context.vault.reader import read_include_files, read_requested_files


@click.command()
@click.argument("files", nargs=-1, metavar="FILE...")
@click.option("--include", multiple=True, metavar="FILE", help="Any file; repeat.")
@click.option("--filter", "glob", help="Only files whose names match, such as '*.md'.")
@click.option("--max-files", type=click.IntRange(0), help="Stop after this many files.")
@click.option(
    "--max-file-size",
    type=click.IntRange(0),
    help="In bytes; a larger file is replaced by a line that says so.",
)
@vault_option
@json_format
def read(
    files: tuple[str, ...],
    include: tuple[str, ...],
    glob: str | None,
    max_files: int | None,
    max_file_size: int | None,
    vault: Path | None,
    output: str,
) -> None:
    """Print FILEs as assigns, the form in which a model gets them.

    Paths are relative to the vault if --vault is given, else to this folder. Files outside the
    vault are only read with --include, which ignores --filter. A file that can't be read
    is replaced by a line that says why.
    """
    if not (files or include):
        raise click.UsageError("Name a FILE, or one with --include.")
    root = vault_root(vault)
    folder = Path.cwd() if vault is None else root
    found: dict[str, str] = {}

    async def fill() -> None:
        await read_include_files(include, found, folder, max_file_size=max_file_size)
        await read_requested_files(files, found, folder, glob, max_files, max_file_size, root)

    asyncio.run(fill())
    if output == "json":
        show_json({encodable(path): text for path, text in found.items()})
    else:
        deliver(encodable(build_context_assign_string(found, folder)) + "\n")
