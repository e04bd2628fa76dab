"""What filtering costs: cosines, a whole warm turn, a cold one, one new message.

    OPENBLAS_NUM_THREADS=1 python -m tests.benchmarks.bench_filter [--messages 1000 10000]

Medians in milliseconds, beside what the machine can do at best, or a peer if it is installed
(faiss-cpu), from the same run. Goals at 10,000 messages: a warm filter of 10 ms, vectors from disk
in 60 ms, cosines at most twice faiss flat and three times one read of the matrix.
"""

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from smart_context.chat.messages import Message
from smart_context.relevance.cache import EmbeddingCache
from smart_context.relevance.score import TopicQuery
from smart_context.relevance.scorer import RelevanceScorer
from smart_context.relevance.select import select_messages
from smart_context.relevance.vectors import similarities, unit

DIMENSIONS = 384
TOPICS = [
    TopicQuery(label="Database Migration", message_ids=tuple(f"m{n}" for n in range(40, 90))),
    TopicQuery(label="Garden"),
    TopicQuery(label="Tax Return"),
]
COMMON = [f"word{number}" for number in range(8_000)]
TELLING = ["database", "migration", "garden", "tax", "return"]


class RandomEmbedder:
    name = "random/384"

    def __init__(self):
        self.random = np.random.default_rng(0)

    async def embed(self, texts):
        return unit(self.random.standard_normal((len(texts), DIMENSIONS)).astype(np.float32))


def chat(count):
    pick = random.Random(0)
    return [
        Message(
            id=f"m{n}",
            role="user" if n % 2 else "assistant",
            content=" ".join(pick.choices(COMMON, k=100) + pick.choices(TELLING, k=n % 20 == 0)),
        )
        for n in range(count)
    ]


def again(messages):
    """The same messages as new objects, as when the chat file was read again."""
    return [Message.from_dict(message.to_dict()) for message in messages]


def milliseconds(work: Callable[[], object], runs: int) -> float:
    work()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1000 * statistics.median(times)


async def milliseconds_of(work, runs, *, prepare=lambda: None):
    times = []
    for _ in range(runs):
        value = prepare()
        start = time.perf_counter()
        await work(value)
        times.append(time.perf_counter() - start)
    return 1000 * statistics.median(times)


def row(name, value, beside=""):
    print(f"{name:<58}{value:>9.2f} ms   {beside}")


def bench_similarities(count, runs):
    matrix = unit(np.random.default_rng(1).standard_normal((count, DIMENSIONS)).astype(np.float32))
    queries = matrix[:3].copy()
    ours = milliseconds(lambda: similarities(queries, matrix), runs)
    limit = milliseconds(matrix.sum, runs)
    row(f"3 labels, {count} messages: exact cosines", ours, f"{ours / limit:.1f}x one read")
    try:
        import faiss  # noqa: PLC0415 -- a peer, only if somebody installed it
    except ImportError:
        print("  (faiss is not installed: no peer)")
        return
    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatIP(DIMENSIONS)
    index.add(matrix)
    peer = milliseconds(lambda: index.search(queries, count), runs)
    scan = milliseconds(lambda: index.search(queries, 10), runs)
    row("  faiss flat, every score / best ten", peer, f"{ours / peer:.2f}x / {ours / scan:.2f}x")


async def bench_turn(count, runs, folder):
    def path_of(chat_id):
        return folder / f"{chat_id}.embeddings.json"

    messages = chat(count)
    cache = EmbeddingCache(path_of, RandomEmbedder())
    scorer = RelevanceScorer(cache)

    async def turn(present):
        scores = await scorer.scores("chat", present, TOPICS)
        return select_messages(present, scores=scores, recent=2, keep_pairs=True, sticky={"m0"})

    await turn(messages)
    await cache.fold()
    same = await milliseconds_of(turn, runs, prepare=lambda: messages)
    row(f"whole warm filter, {count} messages", same, "goal 10 ms at 10,000")
    read = await milliseconds_of(turn, runs, prepare=lambda: again(messages))
    row("  the same, the chat file was read anew", read)

    async def cold(_):
        fresh = EmbeddingCache(path_of, RandomEmbedder())
        return await fresh.vectors("chat", messages)

    size = path_of("chat").stat().st_size
    limit = milliseconds(lambda: path_of("chat").read_bytes(), runs)
    took = await milliseconds_of(cold, max(3, runs // 5))
    row(
        f"cold vectors from disk ({size / 1e6:.0f} MB)", took, f"read alone {limit:.1f} ms, goal 60"
    )

    async def cold_turn(_):
        fresh = RelevanceScorer(EmbeddingCache(path_of, RandomEmbedder()))
        return await fresh.scores("chat", messages, TOPICS)

    row("cold filter, words looked up too", await milliseconds_of(cold_turn, max(3, runs // 5)))
    await bench_added(count, runs, cache, messages)


async def bench_added(count, runs, cache, messages):
    grown = list(messages)

    def add():
        grown.append(Message(id=f"new{len(grown)}", role="user", content="one more message"))
        return grown

    async def vectors(present):
        return await cache.vectors("chat", present)

    row(f"one message more, {count} there", await milliseconds_of(vectors, runs, prepare=add))


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--messages", type=int, nargs="*", default=[1_000, 10_000])
    options.add_argument("--runs", type=int, default=20)
    given = options.parse_args()
    for count in given.messages:
        bench_similarities(count, given.runs)
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(bench_turn(count, given.runs, Path(folder)))
        print()


if __name__ == "__main__":
    main()
