"""A server that strangers keep connections open to, without ever asking for something."""

import http.client
import socket
import sys
import time
from contextlib import ExitStack

import pytest

from tests.patience import PATIENCE_S
from tests.serving import TOKEN, serving

DESCRIPTORS = 256
NOTICEABLE = 40
"""How many times as long somebody may wait in a crowd."""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it has no limit of descriptors")


def ask(server):
    """A request of somebody who may come in; gives its status and how long it took."""
    begun = time.perf_counter()
    connection = http.client.HTTPConnection(server.origin[7:], timeout=PATIENCE_S)
    connection.request(
        "POST",
        "/api/commands/memory.list_chats",
        b"{}",
        {"Authorization": f"Bearer {TOKEN}"},
    )
    status = connection.getresponse().status
    connection.close()
    return status, time.perf_counter() - begun


def test_more_strangers_than_descriptors_keep_nobody_out(vault):
    with serving(vault, descriptors=DESCRIPTORS) as server, ExitStack() as crowd:
        alone = max(ask(server)[1] for _ in range(5))
        port = int(server.origin.rpartition(":")[2])
        for number in range(2 * DESCRIPTORS):
            stranger = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
            crowd.enter_context(stranger)
            if number % 2:
                stranger.sendall(b"GET / HTTP/1.1\r\nHost: ")
        answers = [ask(server) for _ in range(5)]
        assert {status for status, _ in answers} == {200}
        assert min(seconds for _, seconds in answers) < NOTICEABLE * alone
        assert server.stop() == 0
    told = "".join(server.errors)
    assert "Traceback" not in told
    assert len(told) < 1000
