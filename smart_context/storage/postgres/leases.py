"""Work that one process at a time may do: leases by the database's clock."""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from smart_context.base.errors import StoreFailed
from smart_context.storage.postgres.database import Database, count, row

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
