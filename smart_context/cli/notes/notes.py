"""Verbs about links, headings and tags: `smart-context links`, `backlinks` and so on.

Names and flags are those of Obsidian's own command line: `backlinks file=Home counts`.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple

import click

from smart_context.base.config import read_memory_dir
from smart_context.base.disk.places import place_below
from smart_context.base.errors import CommandFailed
from smart_context.base.text.names import one_line, shown
from smart_context.cli.terminal.arguments import (
    WordCommand,
    vault_option,
    vault_root,
    with_options,
)
from smart_context.cli.terminal.output import ProgressBar, Row, print_rows, rows_format, say
from smart_context.storage.files.caches import FileCaches
from smart_context.vault.guarded.paths import as_typed, confine
from smart_context.vault.index.vault_index import VaultIndex
from smart_context.vault.markdown.links import fold, linkpath, similar_paths

_MAX_NAMED = 5

_NOTE_OPTIONS = (
    click.argument("note", required=False),
    click.option(
        "--file", metavar="NAME", help="A note by its name, found like the target of a link."
    ),
    click.option("--path", metavar="PATH", help="A note by its exact path in the vault."),
)


_ONE_NOTE = "Name one note: NOTE, file=NAME or path=FOLDER/NOTE.md."


class NamedNote(NamedTuple):
    """A note as named by the user: NOTE or `file=`, resolved like a link, or `path=`."""

    note: str | None = None
    file: str | None = None
    path: str | None = None

    def is_given(self) -> bool:
        """True if a note was named."""
        return any(self)

    def path_in(self, index: VaultIndex) -> str:
        """The path of the note.

        Raises:
            click.UsageError: If no note was named, or one in several ways.
            CommandFailed: If the note does not exist; suggests similar names.
            PathRefused: If the path leads out of the vault.
        """
        if sum(map(bool, self)) != 1:
            raise click.UsageError(_ONE_NOTE)
        return (
            _exact(index, self.path)
            if self.path
            else found_as_link(index, self.note or str(self.file))
        )


def note_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add NOTE, `file=` and `path=`, exactly one of which is given; passed as `named`."""
    return _bundled(command, _NOTE_OPTIONS)


def note_filter(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `file=` and `path=`, of which one may be given; passed as `named`."""
    return _bundled(command, _NOTE_OPTIONS[1:])


def _bundled(command: Callable[..., Any], options: Sequence[Any]) -> Callable[..., Any]:
    @wraps(command)
    def with_note(**given: Any) -> Any:
        named = NamedNote(**{name: given.pop(name) for name in NamedNote._fields if name in given})
        return command(named=named, **given)

    return with_options(options)(with_note)


@contextmanager
def opened_index(vault: Path | None) -> Iterator[VaultIndex]:
    """The current index of a vault.

    It is stored in the memory folder if there is one; otherwise nothing is written.
    """
    root = vault_root(vault)
    memory = read_memory_dir(root)
    index = VaultIndex(root.resolve(), memory, caches=FileCaches(place_below(root, memory)))
    bar = ProgressBar("Reading notes")
    try:
        index.refresh(bar)
        bar.wipe()
        yield index
    finally:
        bar.wipe()
        index.close()


def found_as_link(index: VaultIndex, name: str) -> str:
    """The path of the note that a link with that name leads to.

    Raises:
        CommandFailed: If the note does not exist; suggests similar names.
    """
    found = index.names.resolve(as_typed(name), "")
    if not found.path:
        raise CommandFailed(f"There is no note '{shown(name)}' in this vault.{_near(index, name)}")
    if found.candidates:
        others = ", ".join(shown(other) for other in found.candidates[1 : _MAX_NAMED + 1])
        say(
            f"'{shown(name)}' was read as {shown(found.path)}; it could also mean {others}. "
            "Use path= to name one exactly.",
            err=True,
        )
    return found.path


def _exact(index: VaultIndex, path: str) -> str:
    plain = confine(index.root, as_typed(path)).relative_to(index.root).as_posix()
    if plain in set(index.names.all()):
        return plain
    raise CommandFailed(f"There is no file '{shown(path)}' in this vault.{_near(index, path)}")


def _near(index: VaultIndex, name: str) -> str:
    near = similar_paths(name, index.names.all(), _MAX_NAMED)
    return f" Similar names: {', '.join(map(shown, near))}." if near else ""


_counts = click.option("--counts", is_flag=True, help="Show the number of each.")
_total = click.option("--total", is_flag=True, help="Print only the total.")
_NOTE = ("file", "path")


@dataclass(frozen=True, slots=True)
class LinkListing:
    """The vault of a list, and the format in which it is printed."""

    vault: Path | None
    form: str
    total: bool

    def index(self) -> AbstractContextManager[VaultIndex]:
        """The vault's current index."""
        return opened_index(self.vault)

    def show(
        self, columns: Sequence[str], rows: Sequence[Row], as_lines: Sequence[str] | None = None
    ) -> None:
        """Print the rows (for people, `as_lines`), or only their number."""
        if self.total:
            say(str(len(rows)))
        elif as_lines is None:
            print_rows(columns, rows, self.form)
        else:
            print_rows(columns, rows, self.form, lambda: "\n".join(map(one_line, as_lines)))


def _listing_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--total`, `--vault` and `--format`; the command gets them as `listing`."""

    @wraps(command)
    def with_listing(*, vault: Path | None, form: str, total: bool, **others: Any) -> Any:
        return command(listing=LinkListing(vault, form, total), **others)

    return _total(vault_option(rows_format(with_listing)))


@click.command(cls=WordCommand, argument_options=_NOTE)
@note_options
@_listing_options
def links(named: NamedNote, listing: LinkListing) -> None:
    """List what a note links to, and the file that each link leads to.

    An unresolved link has no path; for an ambiguous one, the other files are listed.
    """
    with listing.index() as index:
        found = dict.fromkeys(
            (link.target, resolved) for link, resolved in index.links(named.path_in(index))
        )
    rows = [(target, resolved.path or "", [*resolved.candidates[1:]]) for target, resolved in found]
    listing.show(("link", "path", "or"), rows)


@click.command(cls=WordCommand, argument_options=_NOTE)
@note_options
@_counts
@_listing_options
def backlinks(named: NamedNote, listing: LinkListing, counts: bool) -> None:
    """List the notes that link to a note."""
    with listing.index() as index:
        target = named.path_in(index)
        rows = [
            (source, sum(resolved.path == target for _, resolved in index.links(source)))
            for source in index.backlinks(target)
        ]
    listing.show(*_counted("path", rows, counts=counts))


@click.command(cls=WordCommand)
@_counts
@click.option("--verbose", is_flag=True, help="Also list the notes that contain them.")
@_listing_options
def unresolved(listing: LinkListing, counts: bool, verbose: bool) -> None:
    """List the links to files that don't exist."""
    from smart_context.vault import survey  # noqa: PLC0415  each verb loads what it needs

    spelled: dict[str, str] = {}
    found: Counter[tuple[str, str]] = Counter()
    with listing.index() as index:
        for source, target in survey.unresolved(index):
            name = linkpath(target)
            found[spelled.setdefault(fold(name), name), source if verbose else ""] += 1
    rows = [(name, source, count) for (name, source), count in sorted(found.items())]
    if verbose:
        columns: tuple[str, ...] = ("link", "path", "count")
        listing.show(columns if counts else columns[:2], [r[: 2 + counts] for r in rows])
    else:
        named = [(name, count) for name, _, count in rows]
        listing.show(*_counted("link", named, counts=counts))


@click.command(cls=WordCommand)
@_listing_options
def orphans(listing: LinkListing) -> None:
    """List the notes that no other file links to."""
    from smart_context.vault import survey  # noqa: PLC0415  as above

    with listing.index() as index:
        rows = [(path,) for path in survey.orphans(index)]
    listing.show(("path",), rows)


@click.command(cls=WordCommand)
@_listing_options
def deadends(listing: LinkListing) -> None:
    """List the notes that link to no other file."""
    from smart_context.vault import survey  # noqa: PLC0415  as above

    with listing.index() as index:
        rows = [(path,) for path in survey.dead_ends(index)]
    listing.show(("path",), rows)


@click.command(cls=WordCommand, argument_options=_NOTE)
@note_options
@_listing_options
def outline(named: NamedNote, listing: LinkListing) -> None:
    """List the headings of a note."""
    with listing.index() as index:
        read = index.read(named.path_in(index))
    text, headings = ("", ()) if read is None else (read[0], read[1].headings)
    rows = [(h.level, text.count("\n", 0, h.start) + 1, h.text) for h in headings]
    top = min((level for level, _, _ in rows), default=1)
    listing.show(
        ("level", "line", "heading"),
        rows,
        [f"{'  ' * (level - top)}{heading}" for level, _, heading in rows],
    )


@click.command(cls=WordCommand, argument_options=_NOTE)
@note_filter
@_counts
@click.option("--sort", type=click.Choice(["name", "count"]), default="name", show_default=True)
@_listing_options
def tags(named: NamedNote, listing: LinkListing, counts: bool, sort: str) -> None:
    """List the tags, of all notes or of one."""
    from smart_context.vault import survey  # noqa: PLC0415  as above

    with listing.index() as index:
        found = survey.tags(index)
        if named.is_given():
            own = index.outline(named.path_in(index))
            wanted = {fold(tag) for tag in own.tags} if own is not None else set()
            found = Counter({tag: n for tag, n in found.items() if fold(tag) in wanted})
    rows = [(f"#{tag}", count) for tag, count in sorted(found.items(), key=lambda t: fold(t[0]))]
    if sort == "count":
        rows.sort(key=lambda row: -row[1])
    listing.show(*_counted("tag", rows, counts=counts))


@click.command(cls=WordCommand)
@_listing_options
def aliases(listing: LinkListing) -> None:
    """List the aliases of notes."""
    from smart_context.vault import survey  # noqa: PLC0415  as above

    with listing.index() as index:
        rows = list(survey.aliases(index))
    listing.show(("alias", "path"), rows)


def _counted(
    name: str, rows: Sequence[tuple[str, int]], *, counts: bool
) -> tuple[tuple[str, ...], Sequence[Row]]:
    """The columns and rows, with or without counts."""
    return ((name, "count"), rows) if counts else ((name,), [row[:1] for row in rows])
