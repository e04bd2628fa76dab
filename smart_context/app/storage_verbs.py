"""`smart-context storage`: the schema of a database, and copies from one storage to another."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from smart_context.base.config import read_memory_dir
from smart_context.base.config.storage import is_database
from smart_context.base.disk.places import place_below
from smart_context.storage.files.contents import FolderContents
from smart_context.storage.layout import Contents, CopyOutcome, copy_all
from smart_context.storage.postgres.contents import DatabaseContents
from smart_context.storage.postgres.database import Database
from smart_context.storage.postgres.schema import (
    SchemaState,
    migrate,
    prepare_meanings,
    schema_state,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseReport:
    """The state of a database."""

    where: str  # the database, for users
    version: str  # the server's version
    state: SchemaState


def migrated(url: str) -> list[str]:
    """Apply the missing migrations of a database; returns the names of those applied here.

    Raises:
        StoreFailed: If it can't be reached, refuses, or is newer than this program.
    """
    with Database(url).connected() as connection:
        before = migrate(connection)
        prepare_meanings(connection)
    return list(before.pending.values())


def examined(url: str) -> DatabaseReport:
    """The state of a database, which is not changed.

    Raises:
        StoreFailed: If it can't be reached, or is newer than this program.
    """
    database = Database(url)
    with database.connected() as connection:
        state = schema_state(connection)
        row = connection.execute("SELECT current_setting('server_version')").fetchone()
    return DatabaseReport(where=database.where, version=row[0] if row else "", state=state)


def copied(source: str, target: str, progress: Callable[[int, int], None]) -> CopyOutcome:
    """Copy all data at one address to another; see `copy_all`."""
    ends: list[Contents] = []
    try:
        ends += [_contents(source), _contents(target)]
        return copy_all(ends[0], ends[1], progress)
    finally:
        for end in ends:
            end.close()


def _contents(address: str) -> Contents:
    if is_database(address):
        return DatabaseContents(Database(address))
    root = Path(address.removeprefix("file://")).expanduser().resolve()
    return FolderContents(place_below(root, read_memory_dir(root)))
