"""What the worst input of each reader does to others: how long they wait, memory, and the end.

    python -m tests.benchmarks.bench_limits [--only PATTERN] [--all] [--seconds N] [--answers]

Each input goes to a server of its own, in a process of its own, while another client asks
`/healthz` again and again. Printed are the input's size, the longest wait of that client, the most
memory of the server and its children together, the time that the input takes, and the time from
SIGTERM in the middle of it, when it is sent once more, to the end of the process.

The wait is on the clock: what a client sees, a busy machine's delays included, so run it on a quiet
one. `less delays` is the same without what the server's main thread, which runs the event loop,
waited for a processor meanwhile: as long as the other threads of the server make it wait, that is
the server's own doing, so it is a lower bound. `!` marks what breaks a limit: 250 ms, 512 MB, 5 s.

By default one kind of each reader is measured, for 10 s at most, or those that are known to be bad,
for three times as long. `+` marks what took longer: its wait and memory are those of the time until
then, and may grow later. `--all` takes every kind, `--seconds` gives more time. `--only` takes all
that a pattern fits.
Progress goes to stderr, the table to stdout. `--answers` prints the statuses of what was asked.
Nothing is asserted.
"""

import argparse
import http.client
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from tests.benchmarks.worst_inputs import Worst, worst_inputs
from tests.serving import TOKEN, Server

MOST_STALL_MS, MOST_MB, MOST_END_S = 250, 512, 5
PATIENCE_S = 120
REST_S = 0.005
MOST_S = 10
KNOWN = re.compile(
    "codex: empty$|of_empty_nodes|of_results|of_swipes|openai: brackets"
    "|ZIP: (many entries|bombs of)|SQLite: (views|many rows)"
    "|^chat: (small messages|equal ids|empty texts|calls and results|tool calls of one"
    "|files|files of one|topics|one sticky topic|removed|keys)$"
)
"""The inputs that are known to be bad."""
FOR_KNOWN = 3


class Watch:
    """Another client of the server, in a process of its own, which also looks at its memory."""

    def __init__(self, process_id, port):
        self._connection, theirs = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")
        self._process = context.Process(target=watch, args=(theirs, process_id, port), daemon=True)
        self._process.start()
        self._connection.recv()

    def stop(self):
        """The longest wait less delays, and on the clock, in ms, and the most memory, in MB."""
        self._connection.send(None)
        result = self._connection.recv()
        self._process.join()
        return result


def watch(connection, process_id, port):
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    longest = on_clock = most = 0.0
    connection.send(None)
    while not connection.poll():
        delayed, began = delay_of(process_id), time.perf_counter()
        with suppress(OSError, http.client.HTTPException):
            client.request("GET", "/healthz")
            client.getresponse().read()
        took = time.perf_counter() - began
        on_clock = max(on_clock, took)
        longest = max(longest, took - (delay_of(process_id) - delayed))
        most = max(most, memory_of(process_id))
        time.sleep(REST_S)
    connection.recv()
    connection.send((longest * 1000, on_clock * 1000, most / 1e6))


def delay_of(process_id):
    """How many seconds the main thread of a process has waited for a processor so far."""
    with suppress(OSError):
        return int(Path(f"/proc/{process_id}/schedstat").read_bytes().split()[1]) / 1e9
    return 0.0


def memory_of(process_id):
    """The resident bytes of a process and of its descendants."""
    page, total, left = os.sysconf("SC_PAGE_SIZE"), 0, [process_id]
    while left:
        one = left.pop()
        with suppress(OSError):
            total += int(Path(f"/proc/{one}/statm").read_bytes().split()[1]) * page
            for task in Path(f"/proc/{one}/task").iterdir():
                left += map(int, (task / "children").read_bytes().split())
    return total


class Asked(Server):
    """A server that counts the statuses of its answers, and whose client gives up at the end."""

    def request(self, *arguments, **named):
        with suppress(OSError, http.client.HTTPException):
            answer = super().request(*arguments, **named)
            self.statuses[answer[0]] += 1
            return answer
        self.statuses["none"] += 1
        return 0, {}


@contextmanager
def served(folder: Path) -> Iterator[Asked]:
    """A server of an empty vault in a new process."""
    vault = folder / "vault"
    vault.mkdir()
    names = {"XDG_CONFIG_HOME": "config", "XDG_CACHE_HOME": "cache", "TMPDIR": "tmp"}
    (folder / "tmp").mkdir()
    env = {**os.environ, **{name: str(folder / each) for name, each in names.items()}}
    command = [sys.executable, "-m", "smart_context", "serve", str(vault), "--port", "0"]
    process = subprocess.Popen(
        [*command, "--token", TOKEN, "--no-browser"], env=env, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        link = next(line.strip() for line in process.stdout if "http" in line)
        server = Asked(process=process, link=link, vault=vault)
        server.statuses = Counter()
        server.request("GET", "/chats")
        yield server
    finally:
        process.kill()
        process.wait()


def measured(worst: Worst, most_s: float) -> tuple[str, Counter]:
    """The row of an input, and the statuses of the answers."""
    content = worst.content()
    folder = Path(tempfile.mkdtemp())
    try:
        with served(folder) as server:
            watching = Watch(server.process.pid, urlsplit(server.link).port)
            began = time.perf_counter()
            is_done = used_within(most_s, worst, server, content)
            took = time.perf_counter() - began
            less, stall, memory = watching.stop()
            statuses = server.statuses.copy()
            if is_done:  # else the end comes in the middle of the first time
                used_within(took / 2, worst, server, content)
            ended = time.perf_counter()
            server.stop()
            end = time.perf_counter() - ended
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    figures = [(stall, MOST_STALL_MS, ".0f"), (memory, MOST_MB, ".0f"), (end, MOST_END_S, ".1f")]
    stall, memory, end = [
        f"{figure:{form}}{'!' if figure > most else ''}" for figure, most, form in figures
    ]
    size = len(content) / 1e6
    return (
        f"| {name_of(worst)} | {size:.2f} | {stall} | {less:.0f} | {memory} "
        f"| {took:.1f}{'' if is_done else '+'} | {end} |"
    ), statuses


def used_within(seconds, worst, server, content):
    """Use an input in another thread; true if that came to its end in so many seconds."""
    using = threading.Thread(target=lambda: used(worst, server, content), daemon=True)
    using.start()
    using.join(seconds)
    return not using.is_alive()


def used(worst, server, content):
    with suppress(Exception):  # the server ends meanwhile
        worst.use(server, content)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a pattern of readers and kinds")
    parser.add_argument("--all", action="store_true", help="every kind of each reader")
    parser.add_argument("--seconds", type=float, default=MOST_S, help="most time of each input")
    parser.add_argument("--answers", action="store_true")
    asked = parser.parse_args()
    chosen = [x for x in worst_inputs() if re.search(asked.only, name_of(x))]
    if not (asked.all or asked.only):
        chosen = [*few_of_each(chosen)]
    print("| input | MB | longest wait ms | less delays | most MB | takes s | end s |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for number, worst in enumerate(chosen, 1):
        print(f"{number} of {len(chosen)}: {name_of(worst)}", file=sys.stderr)
        most_s = asked.seconds * (FOR_KNOWN if KNOWN.search(name_of(worst)) else 1)
        row, statuses = measured(worst, most_s)
        print(row, *([dict(statuses)] if asked.answers else ()), flush=True)


def few_of_each(inputs):
    """The kinds of each reader that are known to be bad, or the first one."""
    found = {}
    for worst in inputs:
        found.setdefault(worst.reader, []).append(worst)
    for kinds in found.values():
        known = [worst for worst in kinds if KNOWN.search(name_of(worst))]
        yield from known or kinds[:1]


def name_of(worst):
    return f"{worst.reader}: {worst.kind}"


if __name__ == "__main__":
    main()
