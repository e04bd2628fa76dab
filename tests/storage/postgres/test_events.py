"""What processes tell each other: each message once, in order, also over a broken connection."""

import asyncio
from contextlib import asynccontextmanager

import psycopg
import pytest

from smart_context.storage.redis_events import RedisEvents
from tests.patience import PATIENCE_S
from tests.redis_server import PROGRAM, redis_server

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def listening(*all_events):
    """What each hears, and an event that is set with each message; once all of them hear."""
    heard, news = [[] for _ in all_events], asyncio.Event()
    begun = [asyncio.Event() for _ in all_events]

    def hearing(mine):
        def hear(message):
            mine.append(message["n"])
            news.set()

        return hear

    tasks = [
        asyncio.create_task(events.listen(hearing(mine), begins.set))
        for events, mine, begins in zip(all_events, heard, begun, strict=True)
    ]
    try:
        async with asyncio.timeout(PATIENCE_S):
            for begins in begun:
                await begins.wait()
        yield heard, news
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(end, asyncio.CancelledError) for end in ended), ended


async def until(news, holds):
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            news.clear()
            if not holds():
                await news.wait()


async def check_all_is_heard_in_order(one, two, between):
    async with listening(one, two) as ((by_one, by_two), news):
        for number in range(100):
            one.send({"n": number})
        await until(news, lambda: by_two == [*range(100)])
        await between()
        for number in range(100, 200):
            one.send({"n": number, "long": "x" * 1000})
            two.send({"n": number})
        await until(news, lambda: by_two == [*range(200)])
        await until(news, lambda: by_one == [*range(100, 200)])
        await one.settle()


async def test_by_the_database_nothing_is_lost_when_connections_break(url, opened):
    async def broken():
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    await check_all_is_heard_in_order(opened().events, opened().events, broken)


@pytest.mark.skipif(PROGRAM is None, reason="needs redis-server")
async def test_by_redis():
    async def vault():
        return "v"

    with redis_server() as address:
        one, two = RedisEvents(address, vault), RedisEvents(address, vault)
        await check_all_is_heard_in_order(one, two, lambda: asyncio.sleep(0))


async def test_one_process_at_a_time_holds_a_lease(opened):
    one, two, order = opened(), opened(), []

    async def work(storage, name):
        async with storage.leases.held("topics c"):
            order.append(f"{name} begins")
            await asyncio.sleep(0.01)
            order.append(f"{name} ends")

    async with asyncio.TaskGroup() as tasks:
        for name, storage in (("a", one), ("b", two), ("c", one)):
            tasks.create_task(work(storage, name))
    assert [step.split()[1] for step in order] == ["begins", "ends"] * 3
    async with one.leases.held("x"), two.leases.held("y"):
        pass
