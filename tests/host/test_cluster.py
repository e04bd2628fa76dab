"""Servers of a team: what one asks of another."""

import asyncio
from dataclasses import replace

import pytest

from smart_context.host.cluster import Cluster
from smart_context.host.events.events import CHAT_FINISHED
from smart_context.host.tasks import TaskOwner
from smart_context.storage.memory.storage import memory_storage

pytestmark = pytest.mark.anyio

PATIENCE_S = 5.0


class OtherServers:
    """Two servers' messages, by hand; satisfies `Events`."""

    is_shared = True

    def __init__(self):
        self.sent = []
        self.said = asyncio.Queue()

    def send(self, message):
        self.sent.append(message)

    async def listen(self, heard, begun):
        while True:
            heard(await self.said.get())

    async def settle(self):
        pass


class NoClients:
    """Satisfies `EventRelay` as far as clusters need it."""

    def forward_to(self, listener):
        pass

    def tell_clients(self, event, payload, audience):
        pass

    def send_to_plugins(self, event, payload):
        pass


async def no_answer():
    return False


async def test_who_goes_away_does_not_end_the_waiting_of_others_who_stop_the_same_answer():
    others = OtherServers()
    storage = replace(memory_storage(), events=others)
    answering = {"id": "a", "role": "assistant", "content": "", "generating": True}
    await storage.chats.save("c", {"messages": [answering]})
    cluster = Cluster(storage, NoClients(), lambda _: no_answer(), TaskOwner("cluster"))
    listening = asyncio.create_task(cluster.run())

    gone, waiting = (asyncio.create_task(cluster.stop("c")) for _ in range(2))
    async with asyncio.timeout(PATIENCE_S):
        while others.sent != [{"stop": "c"}] * 2:
            await asyncio.sleep(0)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        finished = {"chat_id": "c", "message_id": "a"}
        others.said.put_nowait({"event": CHAT_FINISHED.name, "payload": finished, "audience": None})
        assert await waiting
    listening.cancel()
