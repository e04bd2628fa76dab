"""`smart-context search`: the notes that contain all words."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from smart_context.base.config import read_memory_dir
from smart_context.base.errors import CommandFailed
from smart_context.cli.terminal.arguments import WordCommand, vault_option, vault_root
from smart_context.cli.terminal.output import ProgressBar, cut, print_rows, rows_format, say
from smart_context.vault.guarded.paths import confine
from smart_context.vault.guarded.walk import readable_files
from smart_context.vault.search import by_closeness, may_be_searched, query_of, search_notes

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
    below = confine(root, folder).relative_to(root).as_posix() if folder else ""
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
