"""What filtering costs: cosines, a whole turn's filter, a cold start, one new message.

    OPENBLAS_NUM_THREADS=1 python -m tests.benchmarks.bench_filter [--messages 1000 10000]

Medians in milliseconds of wall time and of processor time, beside what the machine can do at
best, or a peer if it is installed (faiss-cpu), from the same run. Goals at 10,000 messages: the
filter of a warm turn 10 ms, vectors and words of a cold chat 60 ms, cosines at most twice faiss
flat and three times one read of the matrix; one new message costs the same at any length.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from smart_context.app.composition import VaultParts, make_host, notes_of, read_vault
from smart_context.base.processes.child import Children
from smart_context.base.values import OWNER
from smart_context.chat.messages import Message
from smart_context.host.commands.registry import Caller
from smart_context.host.models import Models
from smart_context.relevance.score import TopicQuery
from smart_context.relevance.scorer import RelevanceScorer
from smart_context.relevance.vectors.cache import EmbeddingCache
from smart_context.relevance.vectors.cosines import similarities, unit
from smart_context.storage.files.storage import file_storage
from smart_context.storage.files.vectors import FileVectors
from tests.scripted import ScriptedChatModel

DIMENSIONS = 384
LABELS = ["Database Migration", "Garden", "Tax Return"]
TOPICS = [TopicQuery(label=label) for label in LABELS]
COMMON = [f"word{number}" for number in range(8_000)]
TELLING = ["database", "migration", "garden", "tax", "return"]


class RandomEmbedder:
    name = "random/384"

    def __init__(self):
        self.random = np.random.default_rng(0)
        self.texts = 0

    async def embed(self, texts):
        self.texts += len(texts)
        return unit(self.random.standard_normal((len(texts), DIMENSIONS)).astype(np.float32))


@dataclass
class Clock:
    """Wall and processor time of what was run between `start` and `stop`."""

    walls: list[float] = field(default_factory=list)
    cpus: list[float] = field(default_factory=list)

    def start(self):
        self.began = time.perf_counter(), time.process_time()

    def stop(self):
        self.walls.append(time.perf_counter() - self.began[0])
        self.cpus.append(time.process_time() - self.began[1])

    @property
    def ms(self):
        return 1000 * statistics.median(self.walls)

    @property
    def cpu_ms(self):
        return 1000 * statistics.median(self.cpus)

    def row(self, name, beside=""):
        print(f"{name:<54}{self.ms:>9.2f}{self.cpu_ms:>9.2f} ms   {beside}")


def texts_of(count):
    pick = random.Random(0)
    return [
        " ".join(pick.choices(COMMON, k=100) + pick.choices(TELLING, k=n % 20 == 0))
        for n in range(count)
    ]


def chat(count):
    return [
        Message(id=f"m{n}", role="user" if n % 2 == 0 else "assistant", content=text)
        for n, text in enumerate(texts_of(count))
    ]


def taking_turns(works, runs):
    """A clock for each piece of work; they take turns, so that a busy moment hits all."""
    clocks = [Clock() for _ in works]
    for number in range(runs + 1):
        for clock, work in zip(clocks, works, strict=True):
            clock.start()
            work()
            if number:
                clock.stop()
    return clocks


def bench_similarities(count, runs):
    matrix = unit(np.random.default_rng(1).standard_normal((count, DIMENSIONS)).astype(np.float32))
    queries = matrix[:3].copy()
    works = {
        "limit: one read of the matrix": matrix.sum,
        "numpy, matrix times vector": lambda: [matrix @ query for query in queries],
    }
    try:
        import faiss  # noqa: PLC0415 -- a peer, only if somebody installed it
    except ImportError:
        print("(faiss is not installed: no peer)")
    else:
        faiss.omp_set_num_threads(1)
        index = faiss.IndexFlatIP(DIMENSIONS)
        index.add(matrix)
        works["faiss flat, the best ten"] = lambda: index.search(queries, 10)
        works["faiss flat, every score"] = lambda: index.search(queries, count)
    ours, *peers = taking_turns([lambda: similarities(queries, matrix), *works.values()], 2 * runs)
    ours.row(f"cosines, 3 labels and {count} messages")
    for name, peer in zip(works, peers, strict=True):
        peer.row(f"  {name}", f"ours {ours.cpu_ms / peer.cpu_ms:.2f}x")


async def bench_turns(count, runs, folder):
    """Turns through the whole host, with models that answer at once."""
    embedder = RandomEmbedder()
    host = host_of(folder, count, embedder)
    await host.start()
    hook, turn, clicks, syncs = Clock(), Clock(), Clock(), Counted()

    async def begin(_turn):
        hook.start()

    async def end(_turn):
        hook.stop()

    host.bus.subscribe("pipeline.context", begin, priority=1_000)
    host.bus.subscribe("pipeline.context", end, priority=-1_000)

    async def call(name, **params):
        return await host.commands.call(name, {"chat_id": "long", **params}, Caller(OWNER))

    for number in range(runs + 1):
        clicks.start()
        await call("smart_context.set_filter", topics=LABELS[: 3 - number % 3])
        clicks.stop()
    await call("smart_context.set_filter", topics=LABELS)
    embedded, written = embedder.texts, syncs.count
    for number in range(runs):
        turn.start()
        await call("chat.send", message=f"And the garden, number {number}?", stream=False)
        turn.stop()
        await asyncio.sleep(0.3)  # a person needs longer: what follows a turn is over by then
    written, embedded = syncs.end() - written, embedder.texts - embedded
    await host.stop()
    hook.row(f"the filter of a warm turn, {count} messages", "goal 10 ms at 10,000")
    turn.row("  the whole turn but for the model", "with two saves of the chat")
    clicks.row("  a click on a topic", "with a save of the filter")
    print(f"  a turn (two messages): {embedded / runs:.1f} embedded, {written / runs:.1f} fsyncs")


def host_of(folder, count, embedder):
    (folder / ".memory").mkdir()
    messages = [message.to_dict() for message in chat(count)]
    (folder / ".memory" / "long.json").write_text(json.dumps({"messages": messages}), "utf-8")
    config = read_vault(folder)
    models = Models(
        chat=ScriptedChatModel(lambda _: "An answer about the garden."),
        fast=ScriptedChatModel(lambda _: "no topics"),
        embedder=embedder,
        chat_is_embedded=False,
    )
    storage = file_storage(config.memory_dir)
    notes = notes_of(config, storage.caches)
    parts = VaultParts(
        config=config, storage=storage, children=Children(), notes=notes, models=models
    )
    return make_host(parts)


class Counted:
    """Counts fsyncs until `end`."""

    def __init__(self):
        self.count = 0
        self.real = os.fsync
        os.fsync = self

    def __call__(self, descriptor):
        self.count += 1
        self.real(descriptor)

    def end(self):
        os.fsync = self.real
        return self.count


async def bench_cold(count, runs, folder):
    def path_of(chat_id):
        return folder / f"{chat_id}.embeddings.json"

    messages = chat(count)
    first = EmbeddingCache(FileVectors(path_of("chat").parent), RandomEmbedder())
    await first.vectors("chat", messages)
    await first.fold()
    (read,) = taking_turns([path_of("chat").read_bytes], runs)
    vectors, whole = Clock(), Clock()
    for _ in range(max(3, runs // 4)):
        cache = EmbeddingCache(FileVectors(path_of("chat").parent), RandomEmbedder())
        vectors.start()
        await cache.vectors("chat", messages)
        vectors.stop()
        scorer = RelevanceScorer(
            EmbeddingCache(FileVectors(path_of("chat").parent), RandomEmbedder())
        )
        whole.start()
        await scorer.scores("chat", messages, TOPICS)
        whole.stop()
    size = path_of("chat").stat().st_size / 1e6
    whole.row(f"a cold filter, {count} messages", "goal 60 ms at 10,000")
    vectors.row(f"  of that: vectors from disk ({size:.0f} MB)")
    read.row("  limit: reading the file", f"ours {vectors.cpu_ms / read.cpu_ms:.1f}x")
    await bench_added(first, messages, runs)


async def bench_added(cache, messages, runs):
    present, clock = tuple(messages), Clock()
    for number in range(runs + 1):
        present += (Message(id=f"new{number}", role="user", content="one more message"),)
        clock.start()
        await cache.vectors("chat", present)
        clock.stop()
    clock.row(f"one message more, {len(messages)} there", "embedded, scored against, stored")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--messages", type=int, nargs="*", default=[1_000, 10_000])
    options.add_argument("--runs", type=int, default=20)
    given = options.parse_args()
    print(f"{'':<54}{'wall':>9}{'processor':>10}")
    for count in given.messages:
        bench_similarities(count, given.runs)
        for bench in (bench_turns, bench_cold):
            with tempfile.TemporaryDirectory() as folder:
                asyncio.run(bench(count, given.runs, Path(folder)))
        print()


if __name__ == "__main__":
    main()
