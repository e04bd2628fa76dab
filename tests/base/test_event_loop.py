"""The event loop that the server runs on."""

import asyncio
import socket
import threading

from smart_context.base.event_loop import run
from tests.patience import PATIENCE_S


def test_it_looks_names_up():
    async def main():
        return await asyncio.get_running_loop().getaddrinfo("127.0.0.1", 80, type=1)

    assert run(main())[0][4] == ("127.0.0.1", 80)


def test_its_end_waits_for_no_name_server(monkeypatch):
    answered, given_up = threading.Event(), []

    def silent(*_):
        answered.wait(PATIENCE_S)
        given_up.append(not answered.is_set())

    monkeypatch.setattr(socket, "getaddrinfo", silent)

    async def main():
        looking_up = asyncio.create_task(asyncio.get_running_loop().getaddrinfo("x", 80))
        await asyncio.wait([looking_up], timeout=0.05)
        return looking_up.done()

    assert run(main()) is False
    assert not given_up
    answered.set()
