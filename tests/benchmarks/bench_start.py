"""How long starting takes: `--version`, and `serve` until its first page is there.

    python -m tests.benchmarks.bench_start [--chats 200] [--runs 5]

Medians, in wall time and in processor time, beside `python -c pass` and beside the bare import of
what a web page with vectors needs (uvicorn, starlette, jinja2, numpy). Goals: `--version` at most
three times `python -c pass`; a page within a second on a vault of 200 chats.
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.serving import serving

WORDS = ["boat", "sail", "garden", "tomato", "python", "query", "ticket", "hotel", "oven"]
BARE = "import asyncio, uvicorn, starlette.applications, jinja2, numpy"
WITH_BYTE_CODE = {"PYTHONDONTWRITEBYTECODE": ""}
"""As after an installation, whatever the shell says."""


def make_vault(folder, chats):
    pick = random.Random(0)
    memory = folder / ".memory"
    memory.mkdir()
    for number in range(chats):
        messages = [
            {
                "id": f"m{n}",
                "role": "assistant" if n % 2 else "user",
                "content": " ".join(pick.choices(WORDS, k=80)),
                "created_at": f"2026-01-01T10:{n % 60:02}:00Z",
            }
            for n in range(40)
        ]
        (memory / f"chat-{number}.json").write_text(json.dumps({"messages": messages}), "utf-8")
    return folder


def children_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def median_of(work, runs):
    """Median wall and processor seconds of child processes."""
    walls, cpus = [], []
    for _ in range(runs):
        cpu, start = children_s(), time.perf_counter()
        work()
        walls.append(time.perf_counter() - start)
        cpus.append(children_s() - cpu)
    return statistics.median(walls), statistics.median(cpus)


def run(*arguments):
    environment = os.environ | WITH_BYTE_CODE
    command = [sys.executable, *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)


def serve_once(vault):
    start = time.perf_counter()
    with serving(vault, env=WITH_BYTE_CODE) as server:
        linked = time.perf_counter() - start
        status, _ = server.request("GET", "/")
        shown = time.perf_counter() - start
        assert status == 200
        status, _ = server.request("GET", "/chats/chat-7")
        again = time.perf_counter() - start - shown
        assert status == 200
    return linked, shown, again


def row(name, wall, cpu, beside=""):
    shown = f"{cpu * 1000:>9.0f} ms" if cpu is not None else " " * 12
    print(f"{name:<46}{wall * 1000:>8.0f} ms {shown}   {beside}")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--chats", type=int, default=200)
    options.add_argument("--runs", type=int, default=5)
    given = options.parse_args()
    print(f"{'':<46}{'wall':>8}    {'processor':>9}")
    limit = median_of(lambda: run("-c", "pass"), 3 * given.runs)
    row("python -c pass", *limit)
    version = median_of(lambda: run("-m", "smart_context", "--version"), 3 * given.runs)
    row("smart-context --version", *version, f"{version[1] / limit[1]:.2f}x, goal 3x")
    bare = median_of(lambda: run("-c", BARE), given.runs)
    row("importing a web server and numpy alone", *bare)
    with tempfile.TemporaryDirectory() as folder:
        vault = make_vault(Path(folder), given.chats)
        serve_once(vault)  # fills the caches of byte code and files
        cpu = children_s()
        times = [serve_once(vault) for _ in range(given.runs)]
        cpu = (children_s() - cpu) / given.runs
    linked, shown, again = (statistics.median(column) for column in zip(*times, strict=True))
    row(f"serve, {given.chats} chats: the link is printed", linked, None)
    row("  the first page is there", shown, cpu, f"{cpu / bare[1]:.1f}x the imports, goal 1 s")
    row("  one more page", again, None)


if __name__ == "__main__":
    main()
