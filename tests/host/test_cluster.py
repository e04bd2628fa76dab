"""Servers of a team: what one asks of another."""

import asyncio
from dataclasses import replace

import pytest

from smart_context.host.access import EVERYBODY
from smart_context.host.cluster import Cluster
from smart_context.host.events.events import CHAT_FINISHED, CHAT_STARTED, CHAT_THOUGHT, CHAT_TOKEN
from smart_context.host.tasks import TaskOwner
from tests.storage.memory import memory_storage

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

    def forward_to(self, forward):
        self.forward = forward

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


async def test_others_hear_the_pieces_of_an_answer_joined_in_order_and_before_what_follows():
    others, clients = OtherServers(), NoClients()
    storage = replace(memory_storage(), events=others)
    cluster = Cluster(storage, clients, lambda _: no_answer(), TaskOwner("cluster"))

    def happens(event, chat="c", **news):
        clients.forward(event, {"chat_id": chat, "message_id": "a", **news}, EVERYBODY)

    happens(CHAT_STARTED)
    happens(CHAT_THOUGHT, text="Hm")
    happens(CHAT_THOUGHT, text="m.")
    happens(CHAT_TOKEN, offset=0, text="One")
    happens(CHAT_TOKEN, offset=3, text=" two")
    happens(CHAT_TOKEN, chat="d", offset=0, text="Un")
    happens(CHAT_TOKEN, offset=0, text="Ein", message_id="b")
    happens(CHAT_FINISHED)
    happens(CHAT_TOKEN, chat="d", offset=2, text=" deux")
    told = [(said["event"], said["payload"].get("text")) for said in others.sent]
    assert told == [
        ("chat.started", None),
        ("chat.thought", "Hmm."),
        ("chat.token", "One two"),
        ("chat.token", "Ein"),
        ("chat.finished", None),
    ]
    await cluster.settle()
    last = {"chat_id": "d", "message_id": "a", "offset": 0, "text": "Un deux"}
    assert others.sent[-1]["payload"] == last
    happens(CHAT_TOKEN, offset=3, text="!", chat="d")
    async with asyncio.timeout(PATIENCE_S):
        while others.sent[-1]["payload"]["text"] != "!":
            await asyncio.sleep(0)
