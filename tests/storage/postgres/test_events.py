"""What processes tell each other: each message once, in order, also over a broken connection."""

import asyncio

import psycopg
import pytest

from smart_context.storage.redis_events import RedisEvents
from tests.redis_server import PROGRAM, redis_server
from tests.storage.hearing import listening, until

pytestmark = pytest.mark.anyio


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
