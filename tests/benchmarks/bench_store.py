"""Chats on disk: loading, saving and listing, with the limits of the machine beside them.

    python -m tests.benchmarks.bench_store

The limit of a load is `json.loads` of the same bytes; of a save, writing the same bytes to a new
file with fsync and renaming it; of a list, looking at each file's state. Figures are medians, in
milliseconds.
"""

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from smart_context.base.values import OWNER
from smart_context.storage.files.chats import FileChats

WORDS = "We looked at how the graph is walked and what each node hands on to the next one. " * 9
ROUNDS = 9


def document_of(count: int) -> dict:
    return {
        "messages": [
            {
                "id": f"m{number:07}",
                "role": "assistant" if number % 2 else "user",
                "content": f"{number}: {WORDS[: 400 + number * 37 % 500]}",
                "created_at": "2026-03-01T12:00:00Z",
            }
            for number in range(count)
        ],
        "topics": [{"label": "Graph Walks", "count": 4}],
    }


async def median_ms(work: Callable[[], Awaitable[object]], rounds: int = ROUNDS) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        await work()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def show(name: str, ours: float, limit_name: str = "", limit: float = 0) -> None:
    beside = f"{limit_name} {limit:8.2f}   {ours / limit:5.2f}x" if limit else ""
    print(f"{name:48}{ours:9.2f}   {beside}")


async def one_chat(folder: Path, count: int) -> None:
    store = FileChats(folder)
    await store.save("c", document_of(count))
    path = folder / "c.json"
    content = path.read_bytes()
    print(f"\n{count:,} messages, {len(content) / 1e6:.1f} MB")

    async def parse() -> None:
        json.loads(content)

    async def write() -> None:
        with (folder / ".limit").open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        (folder / ".limit").replace(folder / ".limit2")

    await loading(store, folder, await median_ms(parse))
    await saving(store, folder, count, await median_ms(write))


async def loading(store: FileChats, folder: Path, limit: float) -> None:
    show("load, cold", await median_ms(lambda: FileChats(folder).load("c")), "json.loads", limit)
    show("load, warm (a copy)", await median_ms(lambda: store.load("c")))
    show("messages, cold", await median_ms(lambda: FileChats(folder).messages("c")))
    await store.messages("c")
    show("messages, warm", await median_ms(lambda: store.messages("c")))


async def saving(store: FileChats, folder: Path, count: int, limit: float) -> None:
    async def save_topics() -> None:
        document = await store.load("c")
        document["topics"] = [{"label": str(time.perf_counter_ns()), "count": 1}]
        await store.save("c", document)

    def append(document: dict) -> None:
        number = len(document["messages"])
        document["messages"].append({"id": f"n{number}", "role": "user", "content": "One more."})

    show(
        "save, a new chat",
        await median_ms(lambda: FileChats(folder / "new").save("c", document_of(count)), 3),
    )
    await store.update("c", append)
    show("append one message", await median_ms(lambda: store.update("c", append)), "write", limit)
    show("load, set topics, save", await median_ms(save_topics), "write", limit)


async def many_chats(folder: Path, chats: int, count: int) -> None:
    maker = FileChats(folder)
    for number in range(chats):
        await maker.save(f"chat-{number}", document_of(count))
    print(f"\n{chats} chats of {count} messages")

    async def stat_all() -> None:
        with os.scandir(folder) as entries:
            for entry in entries:
                os.stat(entry.path)  # noqa: PTH116 - the limit is the bare call

    store = FileChats(folder)
    stats = await median_ms(stat_all)
    show("list, cold, no index", await median_ms(lambda: fresh_list(folder), 3))
    await store.listing.rows(OWNER)
    show(
        "list, cold, with the index", await median_ms(lambda: FileChats(folder).listing.rows(OWNER))
    )
    show("list, warm", await median_ms(lambda: store.listing.rows(OWNER)), "stat", stats)
    show(
        "search, no hit",
        await median_ms(lambda: store.listing.search(OWNER, "nowhere to be found"), 3),
    )
    show("search, hits", await median_ms(lambda: store.listing.search(OWNER, "graph walked"), 3))


async def fresh_list(folder: Path) -> None:
    (folder / ".index.json").unlink(missing_ok=True)
    await FileChats(folder).listing.rows(OWNER)


async def run() -> None:
    print(f"{'':48}{'ms':>9}   limit")
    with tempfile.TemporaryDirectory() as name:
        for count in (1_000, 10_000):
            await one_chat(Path(name) / str(count), count)
        for count in (40, 1_000):
            await many_chats(Path(name) / f"many{count}", 200, count)


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    asyncio.run(run())


if __name__ == "__main__":
    main()
