"""The schema of the database, and the steps that bring an older one up to date."""

import logging
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, NamedTuple

import psycopg
from psycopg import errors

from smart_context.base.errors import StoreFailed

_logger = logging.getLogger(__name__)

Connection = psycopg.Connection[Any]

_LOCK = 0x5343_7363_6865_6D61  # any numbers that no other code locks
MEANINGS_LOCK = 0x5363_6D65_616E


class SchemaTooNew(StoreFailed):
    """The database was migrated by a newer version of the program."""


class SchemaState(NamedTuple):
    """The state of a database's schema."""

    applied: Mapping[int, str]  # the names of the applied migrations, by number
    pending: Mapping[int, str]  # the names of the missing migrations, by number


def migrations() -> dict[int, str]:
    """The names of all migrations of this program, by number."""
    folder = files("smart_context.storage.postgres").joinpath("migrations")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return {int(name[:4]): name.removesuffix(".sql") for name in names}


def schema_state(connection: Connection) -> SchemaState:
    """The state of a database's schema.

    Raises:
        SchemaTooNew: It has migrations that this program does not know.
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


def migrate(connection: Connection) -> SchemaState:
    """Apply pending migrations, one process at a time; returns the state before.

    Raises:
        SchemaTooNew: The database has migrations that this program does not know.
        StoreFailed: The connection's role may not make tables.
    """
    before = schema_state(connection)
    if not before.pending:
        return before
    try:
        return _migrated(connection)
    except errors.InsufficientPrivilege as error:
        role = connection.info.user
        raise StoreFailed(
            f"The schema has to be made or renewed, and the role {role!r} may not do that:"
            f" {error_words(error)}. Let the owner of the database run"
            " smart-context storage migrate with an address of its own,"
            f" or make {role!r} the owner: docs/team.md."
        ) from error


def _migrated(connection: Connection) -> SchemaState:
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


def prepare_meanings(connection: Connection) -> None:
    """Prepare the database for search by meaning, if pgvector is there or can be created.

    A plain role can't create the extension; everything else works without it.
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


def has_meanings(connection: Connection) -> bool:
    """True if the database searches by meaning."""
    return has_relation(connection, "meaning")


def has_relation(connection: Connection, name: str) -> bool:
    """True if a table or an index is there now.

    Not by `to_regclass`, which may be out of date after a wait for a lock.
    """
    asked = "SELECT 1 FROM pg_class WHERE relname = %s AND pg_table_is_visible(oid)"
    return connection.execute(asked, (name,)).fetchone() is not None


def error_words(error: psycopg.Error) -> str:
    """The message of the database, on one line."""
    text = error.diag.message_primary or str(error)
    return " ".join(text.split())[:300].rstrip(".")
