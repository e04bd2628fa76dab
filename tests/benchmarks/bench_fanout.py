"""One event of 2 KB to many sockets, beside `websockets.broadcast()` and a prebuilt frame.

    python -m tests.benchmarks.bench_fanout [--clients 100 1000] [--rounds 30]

All three servers run in one process and take turns; the clients are raw sockets that a second
process drains. The time is from the event until the last socket has been written to, on
loopback, without compression. The goal at 1,000 clients is at most 1.5 times `broadcast()`.
"""

import argparse
import asyncio
import contextlib
import json
import selectors
import socket
import statistics
import sys
import time
from collections.abc import Awaitable, Callable

from websockets.asyncio.server import broadcast
from websockets.asyncio.server import serve as serve_peer

from smart_context.web.application import create_web_app
from smart_context.web.gate.access import GateSecrets
from smart_context.web.outbox import event_frame
from smart_context.web.server import serve
from smart_context.web.session import Sessions
from tests.web.small_host import TOKEN, SmallHost

EVENT = "x.measured"
PAYLOAD = {"text": "x" * 2000}
GOAL = 1.5

Send = Callable[[], Awaitable[None]]


class QuietHost(SmallHost):
    """A host that greets nobody, so that clients get measured events alone."""

    async def client_connected(self, client):
        self.clients.append(client)


def frame_bytes():
    text = event_frame(EVENT, PAYLOAD).text.encode()
    return b"\x81\x7e" + len(text).to_bytes(2, "big") + text


async def measure(counts, rounds):
    """Milliseconds by server and number of clients."""
    async with contextlib.AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(server()) for server in (ours, peer, prebuilt)]
        return {count: await measure_count(servers, count, rounds) for count in counts}


async def measure_count(servers, count, rounds):
    async with contextlib.AsyncExitStack() as stack:
        drains = []
        for server in servers:
            drains.append(await stack.enter_async_context(drain(server.port, count)))
            await server.wait_joined(count)
        times = {server.name: [] for server in servers}
        for number in range(rounds + 2):
            for server, received in zip(servers, drains, strict=True):
                started = time.perf_counter()
                await server.send()
                spent = (time.perf_counter() - started) * 1000
                await received()
                if number >= 2:
                    times[server.name].append(spent)
    for server in servers:
        await server.wait_joined(0)
    return times


class Server:
    """A server under measurement; `connections` is a live view of who is connected."""

    def __init__(self, name, port, connections, send):
        self.name = name
        self.port = port
        self.send = send
        self._connections = connections

    async def wait_joined(self, count):
        async with asyncio.timeout(60):
            while len(self._connections) != count:
                await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def ours():
    host = QuietHost()
    app = create_web_app(host, access=GateSecrets(TOKEN))
    sessions = next(r.endpoint for r in app.routes if isinstance(r.endpoint, Sessions))
    ready = asyncio.get_running_loop().create_future()

    async def send():
        host.emit(EVENT, PAYLOAD)
        for session in sessions._sessions:
            await session.drained.wait()

    serving = asyncio.create_task(
        serve(app, "127.0.0.1", 0, lambda new_link: ready.set_result(new_link()))
    )
    link = await ready
    yield Server("smart-context", int(link.split(":")[2].split("/")[0]), sessions, send)
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)


@contextlib.asynccontextmanager
async def peer():
    text = event_frame(EVENT, PAYLOAD).text

    async def handler(connection):
        await connection.wait_closed()

    async with serve_peer(handler, "127.0.0.1", 0, compression=None) as server:

        async def send():
            broadcast(connections, text)

        connections = Live(lambda: server.connections)
        port = server.sockets[0].getsockname()[1]
        yield Server("websockets.broadcast()", port, connections, send)


@contextlib.asynccontextmanager
async def prebuilt():
    """The limit: nothing but writing the same bytes to every transport."""
    transports = set()
    frame = frame_bytes()

    class Accepting(asyncio.Protocol):
        def connection_made(self, transport):
            self.transport = transport

        def data_received(self, data):
            if data.endswith(b"\r\n\r\n"):
                self.transport.write(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
                transports.add(self.transport)

        def connection_lost(self, exc):
            transports.discard(self.transport)

    async def send():
        for transport in transports:
            transport.write(frame)

    server = await asyncio.get_running_loop().create_server(Accepting, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield Server("limit: prebuilt frame", port, transports, send)


class Live:
    """The connections as they are now."""

    def __init__(self, current):
        self._current = current

    def __len__(self):
        return len(self._current())

    def __iter__(self):
        return iter(self._current())


@contextlib.asynccontextmanager
async def drain(port, count):
    """A process that reads `count` sockets, and tells when all have a frame more."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.benchmarks.bench_fanout", "--drain", str(port), str(count),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip

    async def received():
        async with asyncio.timeout(60):
            assert await process.stdout.readline() == b"all\n"

    yield received
    process.stdin.close()
    await process.wait()


def drain_sockets(port, count):
    """Be `count` clients of the port until standard input ends."""
    size = len(frame_bytes())
    selector = selectors.DefaultSelector()
    selector.register(sys.stdin, selectors.EVENT_READ)
    clients = [shake_hands(port) for _ in range(count)]
    for client in clients:
        selector.register(client, selectors.EVENT_READ)
    total = 0
    while True:
        for key, _ in selector.select():
            if key.fileobj is sys.stdin:
                return
            total += len(key.fileobj.recv(65536))
        if total >= size * count:
            total -= size * count
            print("all", flush=True)


def shake_hands(port):
    client = socket.create_connection(("127.0.0.1", port), 30)
    head = (
        f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {TOKEN}\r\n"
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    client.sendall(head.encode())
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        answer += client.recv(1)
    return client


def report(results):
    for count, times in results.items():
        medians = {name: statistics.median(spent) for name, spent in times.items()}
        reference = medians["websockets.broadcast()"]
        print(f"{count} clients, {len(json.dumps(PAYLOAD)) / 1000:.1f} KB")
        for name, median in medians.items():
            print(f"  {name:<24} {median:7.2f} ms   {median / reference:5.2f} x broadcast()")
    print(f"goal at 1000 clients: at most {GOAL} x broadcast()")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--clients", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--drain", type=int, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.drain:
        drain_sockets(*options.drain)
    else:
        report(asyncio.run(measure(options.clients, options.rounds)))


if __name__ == "__main__":
    main()
