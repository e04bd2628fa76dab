"""Small values that all processes share, as rows."""

from collections.abc import Callable
from typing import Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from smart_context.storage.postgres.database import Connection, Database, row

T = TypeVar("T")

_READ = "SELECT revision, content FROM record WHERE name = %s"

_WRITE = """
INSERT INTO record (name, revision, content) VALUES (%s, nextval('revision'), %s)
ON CONFLICT (name) DO UPDATE SET revision = excluded.revision, content = excluded.content
RETURNING revision
"""


class PostgresRecord(Generic[T]):
    """One value; satisfies `Shared`.

    Args:
        empty: The value before the first change, and of a damaged one.
    """

    def __init__(self, database: Database, name: str, adapter: TypeAdapter[T], empty: T) -> None:
        self._database = database
        self._name = name
        self._adapter = adapter
        self._empty = empty

    def read(self) -> tuple[object, T]:
        found = self._database.run(row(_READ, (self._name,)))
        return (None, self._empty) if found is None else (found[0], self._parsed(found[1]))

    def update(self, change: Callable[[T], T]) -> tuple[object, T]:
        def work(connection: Connection) -> tuple[object, T]:
            connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (self._name,))
            found = connection.execute(_READ, (self._name,)).fetchone()
            before = self._empty if found is None else self._parsed(found[1])
            after = change(before)
            if found is not None and after == before:
                return found[0], before
            content = self._adapter.dump_json(after)
            written = connection.execute(_WRITE, (self._name, content)).fetchone()
            return written and written[0], after

        return self._database.run(work)

    def _parsed(self, content: bytes) -> T:
        try:
            return self._adapter.validate_json(content)
        except ValidationError:
            return self._empty


class PostgresRecords:
    """The values of a database; satisfies `SharedRecords`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, name: str, adapter: TypeAdapter[T], empty: T) -> PostgresRecord[T]:
        return PostgresRecord(self._database, name, adapter, empty)
