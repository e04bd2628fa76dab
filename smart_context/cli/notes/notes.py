"""The index of a vault for one verb, and the note that a user names."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple

import click

from smart_context.base.config import read_memory_dir
from smart_context.base.disk.places import place_below
from smart_context.base.errors import CommandFailed
from smart_context.base.text.names import shown
from smart_context.cli.terminal.arguments import vault_root
from smart_context.cli.terminal.output import ProgressBar, say
from smart_context.storage.files.caches import FileCaches
from smart_context.vault.guarded.paths import confine
from smart_context.vault.index.vault_index import VaultIndex
from smart_context.vault.markdown.links import similar_paths

_MAX_NAMED = 5

_NOTE_OPTIONS = (
    click.argument("note", required=False),
    click.option(
        "--file", metavar="NAME", help="A note by its name, found like the target of a link."
    ),
    click.option("--path", metavar="PATH", help="A note by its exact path in the vault."),
)


_ONE_NOTE = "Name one note: NOTE, file=NAME or path=FOLDER/NOTE.md."


class Named(NamedTuple):
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


def _bundled(command: Callable[..., Any], options: Iterable[Any]) -> Callable[..., Any]:
    @wraps(command)
    def with_note(**given: Any) -> Any:
        named = Named(**{name: given.pop(name) for name in Named._fields if name in given})
        return command(named=named, **given)

    for option in reversed([*options]):
        with_note = option(with_note)
    return with_note


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
    found = index.names.resolve(name, "")
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
    plain = confine(index.root, path).relative_to(index.root).as_posix()
    if plain in set(index.names.all()):
        return plain
    raise CommandFailed(f"There is no file '{shown(path)}' in this vault.{_near(index, path)}")


def _near(index: VaultIndex, name: str) -> str:
    near = similar_paths(name, index.names.all(), _MAX_NAMED)
    return f" Similar names: {', '.join(map(shown, near))}." if near else ""
