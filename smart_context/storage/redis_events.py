"""Messages between processes through a Redis stream, which keeps the last 10,000 or so."""

import asyncio
import json
import logging
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from smart_context.base.errors import StorageAway, StoreFailed
from smart_context.base.values import JsonObject
from smart_context.storage.outbox import ConnectionLog, MessageOutbox
from smart_context.storage.ports import ProcessListener

_KEPT = 10_000
_WAIT_MS = 4_000
_ANSWER_S = 6.0
_AGAIN_S = 1.0


class RedisEvents:
    """Messages through a Redis server; satisfies `Events`.

    Args:
        url: Its address: `redis://host:6379/0`.
        vault: Returns the id of the vault, which tells it from others on the same server.
    """

    is_shared = True

    def __init__(self, url: str, vault: Callable[[], Awaitable[str]]) -> None:
        self._url = url
        self._vault = vault
        self._node = secrets.token_hex(6)
        self._outbox = MessageOutbox()
        self._connection_log = ConnectionLog(
            logging.getLogger(__name__), "events of other processes"
        )

    def send(self, message: JsonObject) -> None:
        self._outbox.add(message)

    async def settle(self) -> None:
        await self._outbox.settle()

    async def listen(self, heard: ProcessListener, begun: Callable[[], None]) -> None:
        redis = Redis.from_url(
            self._url,
            decode_responses=True,
            socket_connect_timeout=_ANSWER_S,
            socket_timeout=_ANSWER_S,
        )
        stream = f"smart-context:{await self._named()}"

        async def tell(body: str) -> None:
            try:
                fields: dict[Any, Any] = {"node": self._node, "body": body}
                await redis.xadd(stream, fields, maxlen=_KEPT, approximate=True)
            except RedisError as error:
                raise StorageAway(f"Redis can't be reached: {error}") from error

        async with redis, asyncio.TaskGroup() as tasks:
            tasks.create_task(self._outbox.run(tell))
            tasks.create_task(self._hear(redis, stream, heard, begun))

    async def _named(self) -> str:
        while True:
            try:
                return await self._vault()
            except StoreFailed:
                await asyncio.sleep(_AGAIN_S)

    async def _hear(
        self, redis: Redis, stream: str, heard: ProcessListener, begun: Callable[[], None]
    ) -> None:
        read_to = ""
        while True:
            try:
                if not read_to:
                    newest: Any = await redis.xrevrange(stream, count=1)
                    read_to = newest[0][0] if newest else "0-0"
                    begun()
                found = await _given_up(redis.xread({stream: read_to}, block=_WAIT_MS))
                self._connection_log.goes_on()
                for _, entries in found:
                    for number, fields in entries:
                        read_to = number
                        if fields["node"] != self._node:
                            for message in json.loads(fields["body"]):
                                heard(message)
            except RedisError as error:
                self._connection_log.lost(error)
                await asyncio.sleep(_AGAIN_S)


async def _given_up(reading: Awaitable[Any]) -> Any:
    """The outcome of a read; when cancelled, does not wait for the read, which may not notice."""
    task = asyncio.ensure_future(reading)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        await asyncio.wait({task})
    finally:
        task.cancel()
    return task.result()
