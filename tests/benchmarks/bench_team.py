"""A team at work: servers on one database, people who chat and pick topics, and a slow model.

    python -m tests.benchmarks.bench_team [--clients 500] [--streams 50] [--extractions 100]
        [--seconds 600] [--servers 2]

Starts a PostgreSQL, servers, and a model that writes 20 words a second. Each person has a client at
each server and hears of their own chats; some ask one question after the other, others have topics
found, and one picks topics in a chat of 200 messages, on another server each time. Prints how long
a pick takes, how many events the clients got, each server's memory over time, and the processor's
time of servers, database, clients and model, which says more than seconds do on a busy machine; and
how often something held a server's event loop, by the time of its own thread, which other programs
don't lengthen. The goal: 99 in 100 picks within 150 ms, and memory flat.
"""

import argparse
import asyncio
import itertools
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import AsyncExitStack, ExitStack, suppress
from pathlib import Path

import numpy as np
from websockets.asyncio.client import connect

from tests.postgres_server import PostgresServer
from tests.serving import serving
from tests.vaults import KEY, settings_text

WORDS, EACH_S = 60, 0.05
WIDTH = 384
TOPICS = json.dumps(
    {"topics": [{"label": name, "description": name} for name in ("Cats", "Ferries")]}
)
PICKED = "picked"
PERSON = "X-Person"
ACCESS = f"""
[access]
mode = "proxy"
header = "{PERSON}"
trusted = ["127.0.0.1"]
"""
WATCH = {
    "plugin.toml": """
id = "loop"
name = "Loop"
version = "1"
entry = "main:Plugin"
commands = ["loop.held"]
""",
    "main.py": """
import asyncio
import time


class Plugin:
    async def on_load(self, context):
        self.held = []
        context.register_command("loop.held", self.told)
        context.spawn(self.watch())

    async def watch(self):
        while True:
            began = time.thread_time()
            await asyncio.sleep(0.01)
            self.held.append(time.thread_time() - began)

    async def told(self) -> dict:
        counts = {f"{ms} ms": sum(h > ms / 1000 for h in self.held) for ms in (20, 50, 100, 200)}
        return {"looks": len(self.held), "held": counts, "most": max(self.held)}
""",
}
"""A plugin that sees how long the loop's thread works between two looks."""

_STREAM = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)


class Model:
    """An OpenAI-compatible endpoint that costs next to nothing."""

    async def answer(self, reader, writer):
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)[1])
                await self._reply(json.loads(await reader.readexactly(length)), writer)
        writer.close()

    async def _reply(self, asked, writer):
        if "input" in asked:
            texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
            rows = [_vector(text) for text in texts]
            data = [{"index": n, "embedding": row} for n, row in enumerate(rows)]
            await _whole(writer, {"data": data, "model": "e"})
        elif asked.get("stream"):
            writer.write(_STREAM)
            for number in range(WORDS):
                delta = {"choices": [{"index": 0, "delta": {"content": f"word{number} "}}]}
                await _chunk(writer, f"data: {json.dumps(delta)}\n\n")
                await asyncio.sleep(EACH_S)
            end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
            await _chunk(writer, f"data: {json.dumps(end)}\n\ndata: [DONE]\n\n")
            await _chunk(writer, "")
        else:
            said = {"role": "assistant", "content": TOPICS}
            choice = {"index": 0, "message": said, "finish_reason": "stop"}
            await _whole(writer, {"choices": [choice], "usage": {}})


def _vector(text):
    row = np.random.default_rng(abs(hash(text)) % 2**32).normal(size=WIDTH)
    return (row / np.linalg.norm(row)).round(5).tolist()


async def _chunk(writer, text):
    writer.write(f"{len(text):x}\r\n{text}\r\n".encode())
    await writer.drain()


async def _whole(writer, value):
    body = json.dumps(value).encode()
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    await writer.drain()


class Client:
    """A client of the socket, which counts what it hears."""

    def __init__(self, socket):
        self._socket = socket
        self._ids = itertools.count()
        self._waiting = {}
        self.heard = 0

    async def listen(self):
        async for frame in self._socket:
            if frame.startswith('{"jsonrpc":"2.0","id"') or '"id":' in frame[:60]:
                message = json.loads(frame)
                if "method" not in message:
                    self._waiting.pop(message["id"]).set_result(message)
                    continue
            self.heard += 1

    async def call(self, method, **params):
        number = next(self._ids)
        replied = self._waiting[number] = asyncio.get_running_loop().create_future()
        asked = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        await self._socket.send(json.dumps(asked))
        reply = await replied
        assert "result" in reply, reply
        return reply["result"]


def messages(count):
    subjects = ("cats that sleep", "ferries to Lisbon")
    return [
        {
            "id": f"m{n}",
            "role": ("user", "assistant")[n % 2],
            "content": f"{n}: {subjects[n // 2 % 2]}",
        }
        for n in range(count)
    ]


class Load:
    """What the clients do, and what was seen of it.

    Attributes:
        picks: How long each took, in ms.
        answers: The number that ended.
        memory: The megabytes of each server, by time.
    """

    def __init__(self, arguments, servers, clients):
        self._servers = servers
        self._clients = clients
        self._seconds = arguments.seconds
        self._end = time.monotonic() + arguments.seconds
        self.picks = []
        self.answers = 0
        self.memory = []

    @property
    def goes_on(self):
        return time.monotonic() < self._end

    async def ask(self, number):
        while self.goes_on:
            chat = f"asked{number}"
            await self._clients[number].call(
                "chat.send", chat_id=chat, message=f"What now, {chat}?"
            )
            self.answers += 1

    async def find(self, number):
        client, chat = self._clients[-1 - number], f"found{number}"
        await client.call("memory.save_chat", chat_id=chat, data={"messages": messages(20)})
        await client.call("smart_context.refresh_topics", chat_id=chat)

    async def pick(self):
        at_each = self._clients[: len(self._servers)]
        await at_each[0].call("memory.save_chat", chat_id=PICKED, data={"messages": messages(200)})
        for label in ("Cats", "Ferries"):
            await at_each[0].call("smart_context.add_topic", chat_id=PICKED, label=label)
        for label, client in itertools.cycle(itertools.product(("Cats", "Ferries"), at_each)):
            if not self.goes_on:
                return
            began = time.perf_counter()
            await client.call("smart_context.set_filter", chat_id=PICKED, topics=[label])
            self.picks.append((time.perf_counter() - began) * 1000)
            await asyncio.sleep(0.2)

    async def look(self):
        while self.goes_on:
            found = await asyncio.to_thread(lambda: [resident_mb(s) for s in self._servers])
            self.memory.append(found)
            await asyncio.sleep(self._seconds / 10)


async def run(arguments, servers, connected):
    """The load, and the number of events that the clients heard."""
    async with AsyncExitStack() as opened, asyncio.TaskGroup() as tasks:
        clients, listening = [], []
        for number in range(arguments.clients):
            server = servers[number % len(servers)]
            socket = connect(
                server.origin.replace("http", "ws") + "/ws",
                additional_headers={PERSON: f"person{number // len(servers)}"},
                max_size=None,
                open_timeout=120,
                ping_timeout=None,
            )
            clients.append(Client(await opened.enter_async_context(socket)))
            listening.append(tasks.create_task(clients[-1].listen()))
        print(f"{len(clients)} clients are connected", flush=True)
        connected()
        load = Load(arguments, servers, clients)
        await asyncio.gather(
            load.pick(),
            load.look(),
            *map(load.ask, range(arguments.streams)),
            *map(load.find, range(arguments.extractions)),
        )
        for task in listening:
            task.cancel()
    return load, sum(client.heard for client in clients)


def figure(server, name):
    lines = server.request("GET", "/metrics", headers={PERSON: "person0"})[1].splitlines()
    (found,) = (line for line in lines if line.startswith(f"smart_context_{name} "))
    return float(found.split()[1])


def resident_mb(server):
    return round(figure(server, "resident_bytes") / 1e6)


def database_seconds(database):
    """The processor time of the database's processes, those that have ended included."""
    main = (Path(database.folder) / "data" / "postmaster.pid").read_text().split("\n")[0]
    running = subprocess.check_output(["ps", "-o", "pid=", "--ppid", main], text=True).split()
    return sum(map(seconds, (main, *running)))


def seconds(process):
    """The processor time of a process, and of its children that have ended."""
    try:
        stat = Path("/proc", process, "stat").read_text()
    except OSError:  # it has just ended
        return 0
    ticks = sum(map(int, stat.rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (
        ("clients", 500), ("streams", 50), ("extractions", 100), ("seconds", 600), ("servers", 2),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--model", help=argparse.SUPPRESS)
    return parser.parse_args()


async def serve_model(port_file):
    listening = await asyncio.start_server(Model().answer, "127.0.0.1", 0, limit=2**26)
    Path(port_file).write_text(str(listening.sockets[0].getsockname()[1]))
    await listening.serve_forever()


async def main(arguments):
    with tempfile.TemporaryDirectory() as place, ExitStack() as running:
        os.environ["XDG_CONFIG_HOME"] = place
        database = PostgresServer()
        database.make()
        database.start()
        running.callback(database.stop)
        port = Path(place, "port")
        model = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.benchmarks.bench_team", "--model", port
        )
        running.callback(model.kill)
        while not (port.exists() and port.read_text()):
            await asyncio.sleep(0.05)
        env = {**KEY, "SMART_CONTEXT_STORAGE": database.url()}
        servers = []
        for number in range(arguments.servers):
            vault = watched_vault(Path(place, f"vault{number}"), port.read_text())
            servers.append(running.enter_context(serving(vault, env=env, token=None)))
        print(f"the servers' processes: {[server.process.pid for server in servers]}", flush=True)

        def processor():
            return [
                *(figure(server, "cpu_seconds") for server in servers),
                database_seconds(database),
                time.process_time(),
                seconds(str(model.pid)),
            ]

        before = []
        report(arguments, *await run(arguments, servers, lambda: before.extend(processor())))
        spent = [after - was for after, was in zip(processor(), before, strict=True)]
        report_work(servers, *spent)
        (kept,) = database.sql(
            "SELECT pg_database_size('postgres') / 1000000, count(*) FROM message"
        )
        print(f"database: {kept[0]} MB, {kept[1]} messages")


def watched_vault(vault, port):
    (folder := vault / "plugins/loop").mkdir(parents=True)
    for name, content in WATCH.items():
        (folder / name).write_text(content)
    text = settings_text(f"http://127.0.0.1:{port}/v1")
    (vault / ".vault.toml").write_text(text + "\n[plugins.loop]\nenabled = true\n" + ACCESS)
    return vault


def report(arguments, load_seen, heard):
    picks = load_seen.picks
    cuts = statistics.quantiles(picks, n=100) if len(picks) > 1 else [math.nan] * 99
    load = ", ".join(f"{figure:.1f}" for figure in os.getloadavg())
    print(f"picks: {len(picks)}; ms: median {cuts[49]:.0f}, p95 {cuts[94]:.0f}, p99 {cuts[98]:.0f}")
    print(f"answers: {load_seen.answers}; events heard: {heard / arguments.seconds:.0f} a second")
    print(f"memory of each server in MB over time: {load_seen.memory}")
    print(f"{os.cpu_count()} processors; load of the machine over 1, 5 and 15 minutes: {load}")


def report_work(servers, *spent):
    *of_servers, of_database, of_clients, of_model = spent
    print(f"processor's seconds of each server: {', '.join(f'{s:.1f}' for s in of_servers)}")
    print(f"and of the database {of_database:.1f}, clients {of_clients:.1f}, model {of_model:.1f}")
    for server in servers:
        path = "/api/commands/loop.held"
        print(server.request("POST", path, b"{}", {PERSON: "person0"})[1]["result"])


if __name__ == "__main__":
    given = parsed()
    asyncio.run(serve_model(given.model) if given.model else main(given))
