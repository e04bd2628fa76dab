"""The numbered migrations of the schema. Blocks."""

import logging
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, NamedTuple

from psycopg import Connection, errors

from smart_context.base.errors import StoreFailed

_LOCK = 0x5343_7363_6865_6D61  # any numbers that nobody else locks
MEANINGS_LOCK = 0x5363_6D65_616E

_logger = logging.getLogger(__name__)


class SchemaTooNew(StoreFailed):
    """The database was migrated by a newer version of the program."""


class SchemaState(NamedTuple):
    """The state of a database's schema."""

    applied: Mapping[int, str]  # the names of the migrations that it has, by number
    pending: Mapping[int, str]  # the names of those that it lacks, by number


def migrations() -> dict[int, str]:
    """The names of all migrations of this program, by number."""
    folder = files("smart_context.storage.postgres").joinpath("migrations")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return {int(name[:4]): name.removesuffix(".sql") for name in names}


def schema_state(connection: Connection[Any]) -> SchemaState:
    """What a database has of the schema.

    Raises:
        SchemaTooNew: It has more than this program knows.
    """
    known = migrations()
    applied: dict[int, str] = {}
    try:
        with connection.transaction():
            applied.update(connection.execute("SELECT number, name FROM migration").fetchall())
    except errors.UndefinedTable:
        pass
    newest = max(applied, default=0)
    if newest > max(known):
        raise SchemaTooNew(
            f"The database has schema {newest} ({applied[newest]}), and this version of Smart "
            f"Context knows schemas up to {max(known)}. Update Smart Context on this machine."
        )
    pending = {number: name for number, name in known.items() if number not in applied}
    return SchemaState(applied, pending)


def migrate(connection: Connection[Any]) -> SchemaState:
    """Apply what is pending, one process at a time; returns the state before.

    Raises:
        SchemaTooNew: The database has more than this program knows.
    """
    before = schema_state(connection)
    if not before.pending:
        return before
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        connection.execute(
            "CREATE TABLE IF NOT EXISTS migration (number integer PRIMARY KEY, name text NOT NULL,"
            " applied_at timestamptz NOT NULL DEFAULT now())"
        )
        before = schema_state(connection)  # another process may have been faster
        folder = files("smart_context.storage.postgres").joinpath("migrations")
        for number, name in before.pending.items():
            script = folder.joinpath(f"{name}.sql").read_text(encoding="utf-8")
            connection.execute(script.encode())
            connection.execute(
                "INSERT INTO migration (number, name) VALUES (%s, %s)", (number, name)
            )
    return before


def prepare_meanings(connection: Connection[Any]) -> None:
    """Make what search by meaning needs, if the database has pgvector, or may get it.

    A plain role can't create the extension; everything else goes on without it.
    """
    if has_meanings(connection):
        return
    try:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (MEANINGS_LOCK,))
            if not has_meanings(connection):
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
                script = files("smart_context.storage.postgres").joinpath("meanings.sql")
                connection.execute(script.read_bytes())
    except (errors.InsufficientPrivilege, errors.FeatureNotSupported, errors.UndefinedFile) as lack:
        _logger.info("search by meaning compares in this process: %s", lack)


def has_meanings(connection: Connection[Any]) -> bool:
    """True if the database searches by meaning."""
    return connection.execute("SELECT to_regclass('meaning')").fetchone() != (None,)
