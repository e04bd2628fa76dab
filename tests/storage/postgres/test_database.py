"""The threads in which work with the database waits for its answers."""

import asyncio
import threading

import pytest

from smart_context.base.asking import waited_for
from smart_context.storage.postgres.database import MOST_CONNECTIONS, Database
from tests.patience import PATIENCE_S

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
