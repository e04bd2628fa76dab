import contextlib
import http.client
import json
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from smart_context.base.errors import CommandFailed, InvalidParams
from smart_context.web.limits import (
    MAX_DROPPED_BYTES,
    MAX_WIRE_FRAME_BYTES,
    STOP_CONNECTIONS_S,
    STOP_GRACE_S,
    STOP_HOST_S,
)
from smart_context.web.server import bind
from tests.patience import PATIENCE_S
from tests.serving import Browser
from tests.web.small_host import TOKEN, running


@pytest.fixture(scope="module")
def server():
    with running() as server:
        yield server


@contextmanager
def joined(server):
    """A client that has been greeted."""
    with connect(server.socket_url, additional_headers=server.bearer, compression=None) as client:
        assert read(client)["method"] == "ui.register_panel"
        yield client


@contextmanager
def sleeping(server):
    """A client that shakes hands and then never reads."""
    with socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.connect(("127.0.0.1", server.port))
        head = (
            f"GET /ws HTTP/1.1\r\nHost: {server.authority}\r\nAuthorization: Bearer {TOKEN}\r\n"
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
        raw.sendall(head.encode())
        assert raw.recv(12) == b"HTTP/1.1 101"
        yield raw


def ask(client, method, request_id=1, **params):
    client.send(
        json.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
    )


def read(client):
    return json.loads(client.recv(PATIENCE_S))


def get(server, path, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
    try:
        connection.request("GET", path, headers={"Host": server.authority} | headers)
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read()
    finally:
        connection.close()


def refusal_of(server, **headers):
    with (
        pytest.raises(InvalidStatus) as caught,
        connect(server.socket_url, additional_headers=headers),
    ):
        pass
    return caught.value.response


def test_two_clients_get_every_event(server):
    with joined(server) as one, joined(server) as other:
        server.emit("chat.finished", {"chat_id": "日本"})
        for client in (one, other):
            assert read(client)["params"] == {"chat_id": "日本"}


def test_events_written_at_once_and_events_that_had_to_wait_keep_their_order(server):
    with joined(server) as client:
        sizes = [1, 70_000, 10, 200_000, 0, 125, 126, 65_536, 900_000, 3]
        for number, size in enumerate(sizes * 5):
            server.emit("x.sized", {"number": number, "text": "x" * size})
        for number, size in enumerate(sizes * 5):
            assert read(client)["params"] == {"number": number, "text": "x" * size}


def test_a_slow_command_does_not_hold_up_the_next_one():
    with running() as server, joined(server) as client:
        ask(client, "test.wait", "slow")
        ask(client, "test.open_gate", "stop")
        assert [read(client)["id"], read(client)["id"]] == ["stop", "slow"]


def test_requests_that_come_in_one_packet_are_all_answered(server):
    with joined(server) as client:
        for number in range(600):
            ask(client, "test.echo", number)
        assert {read(client)["id"] for _ in range(600)} == set(range(600))


def test_a_client_that_never_reads_delays_nobody_and_is_disconnected():
    with running() as server, joined(server) as reader, sleeping(server):
        payload = {"text": "x" * 10**6}
        for _ in range(40):
            server.emit("x.large", payload)
            assert read(reader)["params"] == payload
        assert server.host.parted.wait(PATIENCE_S)
        assert len(server.host.clients) == 1


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({}, 401, id="no token"),
        pytest.param({"Authorization": "Bearer wrong"}, 401, id="a wrong token"),
        pytest.param({"Origin": "http://evil.example"}, 403, id="another site"),
        pytest.param({"Origin": "null"}, 403, id="a page of nowhere"),
    ],
)
def test_a_socket_is_refused_before_it_opens(server, headers, status):
    bearer = {} if status == 401 else server.bearer
    response = refusal_of(server, **(bearer | headers))
    assert response.status_code == status
    assert json.loads(response.body)["error"]["code"] == status


def test_another_host_is_refused_before_anything_else(server):
    for path in ("/", "/healthz", "/api/commands/test.echo", f"/?token={TOKEN}"):
        assert get(server, path, Host="evil.example")[0] == 403
        assert get(server, path, Host=f"evil.example:{server.port}")[0] == 403


def test_the_start_link_lets_a_browser_open_a_socket():
    with running() as server:
        browser = Browser(server.link)
        protocols = ("smart-context", f"smart-context.key.{browser.key}")
        own = {"Origin": f"http://{server.authority}"}
        with browser.connect(*protocols, **own) as client:
            assert client.subprotocol == "smart-context"
            assert read(client)["method"] == "ui.register_panel"
        for offered, headers, status in [
            ((), own, 401),
            (("smart-context",), own, 401),
            (("smart-context", "smart-context.key.guess"), own, 401),
            (protocols, {"Origin": "http://evil.example"}, 403),
        ]:
            with pytest.raises(InvalidStatus) as caught:
                browser.connect(*offered, **headers)
            assert caught.value.response.status_code == status


def test_a_token_with_any_characters_makes_a_link_that_works():
    with running(token="日本 &token=#%") as server:
        assert server.link.isascii()
        assert Browser(server.link).landed == "/"


def test_a_random_start_link_works_once():
    with running(token=None) as server:
        path = server.link.removeprefix(f"http://{server.authority}")
        assert get(server, path)[0] == 303
        assert get(server, path)[0] == 401


def test_a_frame_that_is_a_little_too_large_is_refused_and_the_next_one_works(server):
    with joined(server) as client:
        client.send(" " * (9 * 2**20))
        reply = read(client)
        assert (reply["id"], reply["error"]["code"]) == (None, -32600)
        ask(client, "test.who")
        assert read(client)["result"]


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        pytest.param(b"x" * (MAX_WIRE_FRAME_BYTES + 1), 1009, id="far too large"),
        pytest.param(b"\xff\xfe", 1007, id="not UTF-8"),
    ],
)
def test_a_text_frame_that_cannot_be_read_ends_its_connection_and_no_other(server, raw, code):
    with joined(server) as bystander:
        with joined(server) as client:
            with contextlib.suppress(ConnectionClosed):
                client.send(raw, text=True)
            with pytest.raises(ConnectionClosed) as caught:
                client.recv(PATIENCE_S)
            # The rest of a large frame may be met by a reset before the reason is read.
            assert caught.value.rcvd is None or caught.value.rcvd.code == code
        ask(bystander, "test.who")
        assert read(bystander)["result"]


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        pytest.param("[" * 100_000, -32700, id="never closed"),
        pytest.param("[" * 100_000 + "]" * 100_000, -32600, id="nested too deeply"),
        pytest.param(b"\xff", -32700, id="binary that is not UTF-8"),
    ],
)
def test_hostile_frames_get_an_error_frame(server, raw, code):
    with joined(server) as client:
        client.send(raw)
        reply = read(client)
        assert (reply["id"], reply["error"]["code"]) == (None, code)


def test_closing_a_tab_does_not_end_a_running_command():
    with running() as server:
        with joined(server) as client:
            ask(client, "test.wait")
            assert server.host.running.wait(PATIENCE_S)
        assert server.host.parted.wait(PATIENCE_S)
        with joined(server) as client:
            ask(client, "test.open_gate")
            assert read(client)["id"] == 1
        assert server.host.finished.wait(PATIENCE_S)


@contextmanager
def uploading(server):
    """A connection on which a body of unannounced length has begun."""
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE_S) as raw:
        head = (
            "POST /api/commands/test.echo HTTP/1.1\r\n"
            f"Host: {server.authority}\r\nAuthorization: Bearer {TOKEN}\r\n"
            "Transfer-Encoding: chunked\r\n\r\n"
        )
        raw.sendall(head.encode())
        yield raw


CHUNK = b"100000\r\n" + b" " * 2**20 + b"\r\n"


def test_a_body_that_is_too_large_is_answered_when_it_has_been_sent(server):
    with uploading(server) as raw:
        for _ in range(9):
            raw.sendall(CHUNK)
        raw.sendall(b"0\r\n\r\n")
        assert raw.recv(1000).startswith(b"HTTP/1.1 413")


def test_a_body_that_never_ends_is_answered_while_it_comes(server):
    with uploading(server) as raw:
        for _ in range(MAX_DROPPED_BYTES // 2**20 + 1):
            raw.sendall(CHUNK)
        assert raw.recv(1000).startswith(b"HTTP/1.1 413")


def test_the_server_does_not_tell_what_it_is_made_of(server):
    _, headers, _ = get(server, "/healthz")
    assert "server" not in {name.lower() for name in headers}


def test_at_the_end_running_commands_are_answered_and_the_host_is_stopped():
    with running() as server, joined(server) as client:
        ask(client, "test.wait")
        assert server.host.running.wait(PATIENCE_S)
        server.stop()
        assert read(client)["result"] == {"waited": True}
        with pytest.raises(ConnectionClosed) as caught:
            client.recv(PATIENCE_S)
        assert caught.value.rcvd.code == 1012
        assert server.host.was_stopped


def test_a_port_in_use_is_told_with_what_to_do():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(CommandFailed, match="--port") as caught:
            bind("127.0.0.1", port)
        assert str(port) in str(caught.value)


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid"])
def test_an_address_that_is_not_ours_is_told(host):
    with pytest.raises(InvalidParams, match=host):
        bind(host, 0)


def test_all_that_is_waited_for_at_the_end_is_less_than_5_s():
    assert STOP_HOST_S + STOP_GRACE_S + STOP_CONNECTIONS_S < 5


PROGRAM = """
import asyncio, sys
from smart_context.web.gate.access import GateSecrets
from smart_context.web.application import create_web_app
from smart_context.web.server import serve
from tests.web.small_host import SmallHost, TOKEN

class Slow(SmallHost):
    async def stop(self):
        await super().stop()
        print("stopped", flush=True)
        if "hang" in sys.argv:
            await asyncio.Event().wait()

def announce(new_link):
    print(new_link(), flush=True)

asyncio.run(serve(create_web_app(Slow(), access=GateSecrets(TOKEN)), "127.0.0.1", 0, announce))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("args", [[], ["hang"]], ids=["in order", "a host that hangs"])
def test_a_signal_ends_the_server_with_sockets_open(number, args):
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    try:
        port = process.stdout.readline().split(":")[2].split("/")[0]
        url = f"ws://127.0.0.1:{port}/ws"
        with connect(url, additional_headers={"Authorization": f"Bearer {TOKEN}"}) as client:
            client.recv(PATIENCE_S)
            ask(client, "test.wait")
            process.send_signal(number)
            assert read(client)["result"] == {"waited": True}
            out, errors = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0
        assert out == "stopped\n"
        assert "Traceback" not in errors
    finally:
        process.kill()
        process.wait()
