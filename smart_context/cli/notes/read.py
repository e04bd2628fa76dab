"""`smart-context read` and `search`: files as assigns, and the notes that contain all words."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from smart_context.base.config import read_memory_dir
from smart_context.base.errors import CommandFailed
from smart_context.base.text.names import encodable
from smart_context.cli.terminal.arguments import WordCommand, vault_option, vault_root
from smart_context.cli.terminal.output import (
    ProgressBar,
    cut,
    deliver,
    json_format,
    print_rows,
    rows_format,
    say,
    show_json,
)
from smart_context.vault.assigns import build_context_assign_string
from smart_context.vault.guarded.paths import as_typed, confine
from smart_context.vault.guarded.walk import readable_files
from smart_context.vault.reader import read_include_files, read_requested_files
from smart_context.vault.search import by_closeness, may_be_searched, query_of, search_notes


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


_LINE_COLUMNS = 300


@click.command(cls=WordCommand, argument_options=("query",))
@click.argument("words", nargs=-1)
@click.option("--query", default="", help="The query, instead of WORDS.")
@click.option("--path", "folder", metavar="FOLDER", default="", help="Only below this folder.")
@click.option("--limit", type=click.IntRange(1), help="The most notes.")
@click.option("--case", is_flag=True, help="Match case.")
@click.option("--total", is_flag=True, help="Print only the number of notes.")
@vault_option
@rows_format
def search(
    words: tuple[str, ...], query: str, folder: str, vault: Path | None, **shape: Any
) -> None:
    """Find the notes that contain all WORDS, in their text or their path.

    In query='…', a "phrase in quotes" is matched exactly, and notes with a -word are left out.
    Notes with the words in their name come first, then those with the most matches.
    """
    wanted = query_of(query or " ".join(words), is_exact=shape["case"])
    if not wanted.wanted:
        raise click.UsageError("Say what to look for: WORDS, or query='two words'.")
    root = vault_root(vault).resolve()
    paths = _searched(root, folder)
    hits = sorted(search_notes(root, _shown(paths), wanted), key=by_closeness)[: shape["limit"]]
    if shape["total"]:
        say(str(len(hits)))
        return
    rows = [(hit.path, hit.line, cut(hit.text, _LINE_COLUMNS)) for hit in hits]
    print_rows(("path", "line", "text"), rows, shape["form"])


def _searched(root: Path, folder: str) -> list[str]:
    below = confine(root, as_typed(folder)).relative_to(root).as_posix() if folder else ""
    if below and not (root / below).is_dir():
        raise CommandFailed(f"There is no folder {folder!r} in this vault.")
    memory = read_memory_dir(root).relative_to(root).as_posix()
    found = readable_files(root, below="" if below == "." else below, without=(memory,))
    return [path for path in found if may_be_searched(path)]


def _shown(paths: Sequence[str]) -> Iterator[str]:
    bar = ProgressBar("Searching notes")
    for done, path in enumerate(paths):
        bar(done, len(paths))
        yield path
    bar.wipe()
