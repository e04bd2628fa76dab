"""What notes link to, their headings and their tags: `smart-context links`, `backlinks` and so on.

Names and flags are those of Obsidian's own command line: `backlinks file=Home counts`.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from smart_context.cli.notes import named_note, note_options, opened_index
from smart_context.cli.rows import Row, print_rows, rows_format
from smart_context.cli.vault import vault_option
from smart_context.cli.words import WordCommand
from smart_context.text.names import shown
from smart_context.vault.links import fold, linkpath

_total = click.option("--total", is_flag=True, help="Print only how many there are.")
_counts = click.option("--counts", is_flag=True, help="Say how often.")
_NOTE = ("file", "path")


@click.command(cls=WordCommand, stands_in=_NOTE)
@note_options
@_total
@vault_option
@rows_format
def links(
    note: str | None,
    file: str | None,
    path: str | None,
    total: bool,
    vault: Path | None,
    form: str,
) -> None:
    """List what a note links to, and the file that each link leads to.

    A link that leads nowhere has no path; where a name could mean more files, they are named.
    """
    with opened_index(vault) as index:
        found = dict.fromkeys(
            (link.target, resolved)
            for link, resolved in index.links(named_note(index, note, file, path))
        )
    rows = [(target, resolved.path or "", [*resolved.candidates[1:]]) for target, resolved in found]
    _show(("link", "path", "or"), rows, form, total=total)


@click.command(cls=WordCommand, stands_in=_NOTE)
@note_options
@_counts
@_total
@vault_option
@rows_format
def backlinks(
    note: str | None,
    file: str | None,
    path: str | None,
    counts: bool,
    total: bool,
    vault: Path | None,
    form: str,
) -> None:
    """List the notes that link to a note."""
    with opened_index(vault) as index:
        target = named_note(index, note, file, path)
        rows = [
            (source, sum(resolved.path == target for _, resolved in index.links(source)))
            for source in index.backlinks(target)
        ]
    _show(*_counted("path", rows, counts=counts), form, total=total)


@click.command(cls=WordCommand)
@_counts
@click.option("--verbose", is_flag=True, help="Name the notes that they are in.")
@_total
@vault_option
@rows_format
def unresolved(counts: bool, verbose: bool, total: bool, vault: Path | None, form: str) -> None:
    """List the names in links under which the vault has no file."""
    from smart_context.vault import survey  # noqa: PLC0415  each verb loads what it needs

    spelled: dict[str, str] = {}
    found: Counter[tuple[str, str]] = Counter()
    with opened_index(vault) as index:
        for source, target in survey.unresolved(index):
            name = linkpath(target)
            found[spelled.setdefault(fold(name), name), source if verbose else ""] += 1
    rows = [(name, source, count) for (name, source), count in sorted(found.items())]
    if verbose:
        columns: tuple[str, ...] = ("link", "path", "count")
        _show(
            columns if counts else columns[:2], [r[: 2 + counts] for r in rows], form, total=total
        )
    else:
        named = [(name, count) for name, _, count in rows]
        _show(*_counted("link", named, counts=counts), form, total=total)


@click.command(cls=WordCommand)
@_total
@vault_option
@rows_format
def orphans(total: bool, vault: Path | None, form: str) -> None:
    """List the notes that no other file links to."""
    from smart_context.vault import survey  # noqa: PLC0415  as above

    with opened_index(vault) as index:
        rows = [(path,) for path in survey.orphans(index)]
    _show(("path",), rows, form, total=total)


@click.command(cls=WordCommand)
@_total
@vault_option
@rows_format
def deadends(total: bool, vault: Path | None, form: str) -> None:
    """List the notes that link to no other file."""
    from smart_context.vault import survey  # noqa: PLC0415  as above

    with opened_index(vault) as index:
        rows = [(path,) for path in survey.dead_ends(index)]
    _show(("path",), rows, form, total=total)


@click.command(cls=WordCommand, stands_in=_NOTE)
@note_options
@_total
@vault_option
@rows_format
def outline(
    note: str | None,
    file: str | None,
    path: str | None,
    total: bool,
    vault: Path | None,
    form: str,
) -> None:
    """List the headings of a note."""
    with opened_index(vault) as index:
        read = index.read(named_note(index, note, file, path))
    text, headings = ("", ()) if read is None else (read[0], read[1].headings)
    rows = [(h.level, text.count("\n", 0, h.start) + 1, h.text) for h in headings]
    top = min((level for level, _, _ in rows), default=1)
    _show(
        ("level", "line", "heading"),
        rows,
        form,
        total=total,
        as_lines=[f"{'  ' * (level - top)}{heading}" for level, _, heading in rows],
    )


@click.command(cls=WordCommand, stands_in=_NOTE)
@click.option("--file", metavar="NAME", help="Only those of this note, found as a link is.")
@click.option("--path", metavar="PATH", help="Only those of the note with this exact path.")
@_counts
@click.option("--sort", type=click.Choice(["name", "count"]), default="name", show_default=True)
@_total
@vault_option
@rows_format
def tags(
    file: str | None,
    path: str | None,
    counts: bool,
    sort: str,
    total: bool,
    vault: Path | None,
    form: str,
) -> None:
    """List the tags, of all notes or of one."""
    from smart_context.vault import survey  # noqa: PLC0415  as above

    with opened_index(vault) as index:
        found = survey.tags(index)
        if file or path:
            own = index.outline(named_note(index, None, file, path))
            wanted = {fold(tag) for tag in own.tags} if own is not None else set()
            found = Counter({tag: n for tag, n in found.items() if fold(tag) in wanted})
    rows = [(f"#{tag}", count) for tag, count in sorted(found.items(), key=lambda t: fold(t[0]))]
    if sort == "count":
        rows.sort(key=lambda row: -row[1])
    _show(*_counted("tag", rows, counts=counts), form, total=total)


@click.command(cls=WordCommand)
@_total
@vault_option
@rows_format
def aliases(total: bool, vault: Path | None, form: str) -> None:
    """List the other names that notes give themselves."""
    from smart_context.vault import survey  # noqa: PLC0415  as above

    with opened_index(vault) as index:
        rows = list(survey.aliases(index))
    _show(("alias", "path"), rows, form, total=total)


def _counted(
    name: str, rows: Sequence[tuple[str, int]], *, counts: bool
) -> tuple[tuple[str, ...], Sequence[Row]]:
    """The rows, with how often each is there if that was asked for."""
    return ((name, "count"), rows) if counts else ((name,), [row[:1] for row in rows])


def _show(
    columns: Sequence[str],
    rows: Sequence[Row],
    form: str,
    *,
    total: bool,
    as_lines: Sequence[str] | None = None,
) -> None:
    if total:
        click.echo(len(rows))
    elif as_lines is None:
        print_rows(columns, rows, form)
    else:
        print_rows(columns, rows, form, lambda: "\n".join(map(shown, as_lines)))
