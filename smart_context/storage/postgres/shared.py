"""State that processes share: leases for work of one process at a time, and small values."""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from smart_context.base.errors import StoreFailed
from smart_context.storage.postgres.database import Database, count, row
from smart_context.storage.postgres.schema import Connection

RENEW_EACH_S = 5.0
LOOK_EACH_S = 0.3

_TAKE = """
INSERT INTO lease AS l (name, holder, held_until) VALUES (%(name)s, %(holder)s, lease_end())
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
WHERE is_over(l.held_until) OR l.holder = excluded.holder
RETURNING holder
"""

_RELEASE = "DELETE FROM lease WHERE name = %(name)s AND holder = %(holder)s"

_logger = logging.getLogger(__name__)


class PostgresLeases:
    """The leases of a database; satisfies `Leases`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @asynccontextmanager
    async def held(self, name: str) -> AsyncIterator[None]:
        asked = {"name": name, "holder": secrets.token_hex(8)}
        while not await self._take(asked):  # noqa: ASYNC110 - another process gives no event
            await asyncio.sleep(LOOK_EACH_S)
        renewing = asyncio.create_task(self._renew(asked))
        try:
            yield
        finally:
            renewing.cancel()
            with suppress(asyncio.CancelledError):
                await renewing
            await self._release(asked)

    async def _take(self, asked: dict[str, str]) -> bool:
        return await self._database.do(row(_TAKE, asked), repeatable=True) is not None

    async def _renew(self, asked: dict[str, str]) -> None:
        while True:
            await asyncio.sleep(RENEW_EACH_S)
            with suppress(StoreFailed):  # tried again
                if not await self._take(asked):
                    _logger.warning("the lease %r was lost", asked["name"])
                    return

    async def _release(self, asked: dict[str, str]) -> None:
        with suppress(StoreFailed):  # it ends by itself
            await self._database.do(count(_RELEASE, asked), repeatable=True)


T = TypeVar("T")

_READ = "SELECT revision, content FROM record WHERE name = %s"

_WRITE = """
INSERT INTO record (name, revision, content) VALUES (%s, nextval('revision'), %s)
ON CONFLICT (name) DO UPDATE SET revision = excluded.revision, content = excluded.content
RETURNING revision
"""


class PostgresRecord(Generic[T]):
    """One value; satisfies `SharedValue`.

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
