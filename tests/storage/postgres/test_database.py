"""The first use of a database, and the threads in which work with it waits for its answers."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from smart_context.base.waiting import waited_for
from smart_context.storage.postgres.database import MOST_CONNECTIONS, Database
from smart_context.storage.postgres.schema import has_meanings, schema_state
from tests.patience import PATIENCE_S
from tests.postgres_server import new_empty_database

pytestmark = pytest.mark.anyio


async def test_what_a_client_waits_for_does_not_queue_behind_work_in_the_background():
    database, may_end = Database("postgresql://nobody@127.0.0.1:1/none"), threading.Event()
    async with asyncio.TaskGroup() as background:
        for _ in range(3 * MOST_CONNECTIONS):
            background.create_task(database.in_thread(may_end.wait))
        await asyncio.sleep(0)
        try:
            with waited_for():
                async with asyncio.timeout(PATIENCE_S):
                    assert await database.in_thread(lambda: "picked") == "picked"
        finally:
            may_end.set()
    database.close()


def test_servers_that_start_at_once_make_the_schema_together(tmp_path_factory):
    url, at_once = new_empty_database(tmp_path_factory), threading.Barrier(4)

    def started(_number):
        database = Database(url)
        try:
            at_once.wait()
            database.prepare()
            return database.run(lambda c: (schema_state(c).pending, has_meanings(c)))
        finally:
            database.close()

    with ThreadPoolExecutor(4) as servers:
        assert set(map(str, servers.map(started, range(4)))) == {"({}, True)"}
