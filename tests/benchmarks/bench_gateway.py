"""What a turn costs us, beside a bare relay: processor time, the first byte, bytes, many streams.

    python -m tests.benchmarks.bench_gateway [--counts 1000,10000] [--only turns,first,bytes,many]

The provider is a process of its own that parses nothing. The relay is Starlette and httpx2 with
nothing in between; LiteLLM's proxy is measured too where `litellm` is on the path. All through one
connection, one after the other, medians. Processor time is that of the server's threads.
"""

import argparse
import asyncio
import contextlib
import http.client
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx2

from tests.benchmarks.bench_store import document_of
from tests.serving import TOKEN, serving
from tests.vaults import KEY, settings_text, write_chat

ROUNDS = 9
LONG = ((20_000, 200), (2_000, 4_000))
"""Events of long answers, and the bytes of each."""

IDLE_MS = 3
QUIET = 6
"""Quarters of a second with at most that, after which nothing follows: the atlas waits a second."""

MANY = 200
LITELLM = {
    "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else it asks the network
}
BODY = {"model": "gpt-4o", "stream": True}


@contextlib.contextmanager
def peer(*arguments):
    """A process of `gateway_peers`; gives its port."""
    command = [sys.executable, "-m", "tests.benchmarks.gateway_peers", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


@contextlib.contextmanager
def measured_vault(base_url, count):
    """A server whose vault has one chat."""
    with tempfile.TemporaryDirectory() as name:
        vault = Path(name) / "vault"
        vault.mkdir()
        (vault / ".vault.toml").write_text(settings_text(base_url))
        if count:
            write_chat(vault, "c", document_of(count)["messages"], source={"client": "bench"})
        with serving(vault, env={**KEY, "XDG_CONFIG_HOME": name}) as server:
            yield server


class Asking:
    """One connection to a gateway, a relay or the provider."""

    def __init__(self, port, chat="c"):
        self.chat = chat
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)

    def stream(self, messages, plan="1 80 0"):
        """Milliseconds to the first and the last byte of the body; and its length."""
        body = json.dumps({**BODY, "messages": messages}).encode()
        headers = {
            "Authorization": f"Bearer {TOKEN}",
            "Content-Type": "application/json",
            "X-Smart-Context-Chat": self.chat,
            "OpenAI-Beta": plan,
        }
        self.connection.close()  # servers close those that were idle for some seconds
        start = time.perf_counter()
        self.connection.request("POST", "/v1/chat/completions", body, headers)
        answer = self.connection.getresponse()
        size = len(answer.read1(1 << 20))
        first = last = time.perf_counter()
        while piece := answer.read1(1 << 20):
            size += len(piece)
            last = time.perf_counter()
        return (first - start) * 1000, (last - start) * 1000, size


class Talk:
    """A client's chat that grows by a question and an answer each turn."""

    def __init__(self, count):
        self.messages = [
            {"role": m["role"], "content": m["content"]} for m in document_of(count)["messages"]
        ]
        self.number = 0

    def ask(self):
        self.number += 1
        self.messages.append({"role": "user", "content": f"Question {self.number} of the graph?"})
        return self.messages

    def answered(self):
        self.messages.append({"role": "assistant", "content": "x" * 20})


def processor_ms(server):
    """Processor time of a server so far."""
    clock = (~server.process.pid << 3) | 2  # Linux: the clock of another process
    return time.clock_gettime(clock) * 1000


def until_quiet(server):
    """Wait until a server does nothing any more; gives its processor time then."""
    used, quiet = processor_ms(server), 0
    while quiet < QUIET:
        time.sleep(0.25)
        before, used = used, processor_ms(server)
        quiet = quiet + 1 if used - before < IDLE_MS else 0
    return used


def port_of(server):
    return int(server.origin.rsplit(":", 1)[1])


def show(name, *figures):
    print(f"{name:52}" + "".join(f"{figure:>14}" for figure in figures), flush=True)


def turns(count, base_url):
    """Processor time of a turn of a client and of one of the page."""
    with measured_vault(base_url, count) as server, server.connect() as wire:
        for name, ask in (("a client's", client_turns(server, count)), ("the page's", page_turns)):
            costs, walls, later = [], [], []
            for round_ in range(ROUNDS + 2):
                before, seen = until_quiet(server), len(wire.events)
                start = time.perf_counter()
                ask(wire)
                wire.wait_for("chat.finished", after=seen, chat_id="c")
                walls.append((time.perf_counter() - start) * 1000)
                costs.append(processor_ms(server) - before)
                later.append(until_quiet(server) - before)
                if round_ < 2:
                    costs.clear(), walls.clear(), later.clear()
            show(
                f"turn, {name}, {count:,} messages",
                *(f"{statistics.median(of):.1f} ms" for of in (costs, later, walls)),
            )


def client_turns(server, count):
    asking, talk = Asking(port_of(server)), Talk(count)

    def ask(_wire):
        asking.stream(talk.ask())
        talk.answered()

    return ask


def page_turns(wire):
    wire.call("chat.send", chat_id="c", message="A question of the page about the graph?")


def first_byte(count, ports):
    """Time to the first byte, for one new message."""
    for name, port in ports.items():
        asking, talk = Asking(port), Talk(count)
        times = []
        for _ in range(ROUNDS + 2):
            times.append(asking.stream(talk.ask())[0])
            talk.answered()
            time.sleep(0.4)
        show(f"first byte, {count:,} messages, {name}", f"{statistics.median(times[2:]):.1f} ms")


def relayed(ports):
    """Bytes a second of one long answer."""
    for count, size in LONG:
        for name, port in ports.items():
            rates = []
            for number in range(5):
                question = [{"role": "user", "content": "Go on"}]
                asking = Asking(port, f"long-{size}-{number}")
                _, spent, length = asking.stream(question, f"{count} {size} 0")
                rates.append(length / 1e3 / spent)
                time.sleep(2 if name == "ours" else 0)
            show(f"relayed, events of {size} bytes, {name}", f"{statistics.median(rates):.0f} MB/s")


async def many_streams(port, events, pause_ms):
    """How late the pieces of many streams come: median and worst, in milliseconds."""
    late = []
    limits = httpx2.Limits(max_connections=None)
    async with httpx2.AsyncClient(limits=limits, trust_env=False, timeout=600) as client:

        async def one(number):
            headers = {
                "Authorization": f"Bearer {TOKEN}",
                "X-Smart-Context-Chat": f"many-{number}",
                "OpenAI-Beta": f"{events} 80 {pause_ms}",
            }
            body = {**BODY, "messages": [{"role": "user", "content": f"Question {number}"}]}
            url = f"http://127.0.0.1:{port}/v1/chat/completions"
            async with client.stream("POST", url, json=body, headers=headers) as answer:
                last = None
                async for _ in answer.aiter_raw():
                    now = time.perf_counter()
                    if last is not None:
                        late.append((now - last) * 1000 - pause_ms)
                    last = now

        await asyncio.gather(*map(one, range(MANY)))
    late.sort()
    return late[len(late) // 2], late[len(late) * 99 // 100], late[-1]


def many(ports):
    for name, port in ports.items():
        start = time.perf_counter()
        late = asyncio.run(many_streams(port, 40, 100))
        spent = time.perf_counter() - start
        figures = (f"{figure:.1f} ms" for figure in late)
        show(f"{MANY} streams, 40 pieces each, {name}", *figures, f"{spent:.1f} s")


@contextlib.contextmanager
def litellm(base_url):
    """LiteLLM's proxy, if it is there; gives its port, or `None`."""
    program = shutil.which("litellm")
    if program is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.yaml"
        params = {"model": "openai/gpt-4o", "api_base": base_url, "api_key": "k"}
        path.write_text(
            json.dumps({"model_list": [{"model_name": "gpt-4o", "litellm_params": params}]})
        )
        command = [program, "--config", path, "--port", "18399", "--host", "127.0.0.1"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(command, **quiet, env={**os.environ, **LITELLM}) as process:
            try:
                yield 18399 if answers(18399) else None
            finally:
                process.terminate()


def answers(port):
    for _ in range(240):
        with contextlib.suppress(httpx2.HTTPError):
            return httpx2.get(f"http://127.0.0.1:{port}/health/liveliness").is_success
        time.sleep(0.25)
    return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--counts", default="1000,10000")
    parser.add_argument("--only", default="turns,first,bytes,many")
    given = parser.parse_args()
    parts, counts = given.only.split(","), [int(count) for count in given.counts.split(",")]
    with peer("provider") as provider:
        base_url = f"http://127.0.0.1:{provider}/v1"
        if "turns" in parts:
            show("", "until its end", "with the rest", "wall")
            for count in counts:
                turns(count, base_url)
        with peer("relay", base_url) as relay, litellm(base_url) as proxy:
            others = {"provider": provider, "bare relay": relay} | (
                {"LiteLLM": proxy} if proxy else {}
            )
            for count in counts if "first" in parts else ():
                with measured_vault(base_url, count) as server:
                    first_byte(count, {**others, "ours": port_of(server)})
            with measured_vault(base_url, 0) as server:
                ports = {**others, "ours": port_of(server)}
                if "bytes" in parts:
                    relayed(ports)
                if "many" in parts:
                    many(ports)


if __name__ == "__main__":
    main()
