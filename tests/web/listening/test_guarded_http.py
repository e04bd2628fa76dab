"""Connections that keep a real server waiting."""

import http.client
import socket
from contextlib import ExitStack, contextmanager

import pytest

from smart_context.web.connections import ConnectionLimits
from tests.patience import PATIENCE_S
from tests.web.small_host import TOKEN, running

HEAD_S = 0.25
IDLE_S = 0.25
LIMITS = ConnectionLimits(
    total=60, strangers=40, strangers_of_peer=40, head_s=HEAD_S, idle_s=IDLE_S
)
SLOW = "GET /healthz HTTP/1.1\r\nHost: {authority}\r\nX-Padding: "
BEARER = f"Authorization: Bearer {TOKEN}\r\n"
BODY = "POST /api/commands/test.echo HTTP/1.1\r\nHost: {authority}\r\nContent-Length: 100000\r\n"
SOCKET = (
    "GET /ws HTTP/1.1\r\nHost: {authority}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
)


@pytest.fixture(scope="module")
def server():
    with running(limits=LIMITS) as server:
        yield server


@contextmanager
def dialled(server, text=""):
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE_S) as raw:
        raw.sendall(text.format(authority=server.authority).encode())
        yield raw


def read_to_the_end(raw):
    """All that comes until the server closes the connection, politely or not."""
    received = b""
    try:
        while piece := raw.recv(65_536):
            received += piece
    except ConnectionResetError:
        pass
    return received


def trickle(raw):
    """Send a byte at a time until the server has closed the connection."""
    raw.settimeout(0.02)
    for _ in range(int(PATIENCE_S / 0.02)):
        try:
            raw.sendall(b"x")
            if raw.recv(65_536) == b"":
                return
        except TimeoutError:
            continue
        except (ConnectionResetError, BrokenPipeError):
            return
    raise AssertionError("it was never closed")


def status_of(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
    try:
        connection.request("GET", "/healthz", headers={"Host": server.authority})
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("GET / HT", id="half a head"),
        pytest.param(SOCKET, id="half a handshake"),
    ],
)
def test_a_connection_without_a_whole_request_is_closed(server, text):
    with dialled(server, text) as raw:
        assert read_to_the_end(raw) == b""


def test_a_head_that_comes_byte_by_byte_is_closed_too(server):
    with dialled(server, SLOW) as raw:
        trickle(raw)


def test_a_refused_request_gives_no_more_time_for_its_body(server):
    with dialled(server, BODY + "\r\n") as raw:
        assert raw.recv(12) == b"HTTP/1.1 401"
        trickle(raw)


def test_the_rest_of_a_body_that_nobody_reads_has_a_deadline(server):
    with dialled(server, BODY.replace("/api/commands/test.echo", "/gone") + BEARER + "\r\n") as raw:
        assert raw.recv(12) == b"HTTP/1.1 404"
        trickle(raw)


def test_a_second_head_has_a_deadline_too(server):
    first = "POST /api/commands/test.who HTTP/1.1\r\nHost: {authority}\r\nContent-Length: 0\r\n"
    with dialled(server, first + BEARER + "\r\n") as raw:
        assert raw.recv(65_536).startswith(b"HTTP/1.1 200")
        raw.sendall(SLOW.encode())
        trickle(raw)


def test_a_connection_that_rests_is_closed(server):
    first = "POST /api/commands/test.who HTTP/1.1\r\nHost: {authority}\r\nContent-Length: 0\r\n"
    with dialled(server, first + BEARER + "\r\n") as raw:
        assert read_to_the_end(raw).startswith(b"HTTP/1.1 200")


def test_who_was_let_in_has_all_the_time(server):
    head = "POST /api/commands/test.wait HTTP/1.1\r\nHost: {authority}\r\nContent-Length: 0\r\n"
    with (
        dialled(server, head + BEARER + "\r\n") as request,
        dialled(server, SOCKET + BEARER + "\r\n") as client,
        dialled(server) as stranger,
    ):
        assert client.recv(12) == b"HTTP/1.1 101"
        assert read_to_the_end(stranger) == b""
        server.emit("x.late", {})
        received = b""
        while b"x.late" not in received:
            received += client.recv(65_536)
        server.open_gate()
        assert request.recv(12) == b"HTTP/1.1 200"


def test_silent_connections_keep_nobody_out(server):
    with ExitStack() as crowd:
        for _ in range(3 * LIMITS.total):
            crowd.enter_context(dialled(server, "GET /"))
        assert status_of(server) == 200
