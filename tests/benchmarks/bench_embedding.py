"""The embedded embedder beside a bare forward pass over the same sorted batches.

    python -m tests.benchmarks.bench_embedding [--messages 800] [--rounds 3]

The bare pass gets batches that are tokenised and padded already and runs in as many threads, so
what it leaves out is all that is ours. The goal is at least 0.9 of its speed. One new message
costs one forward pass: its time is printed beside that of the pass alone.
"""

import argparse
import asyncio
import random
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

from smart_context.llm.minilm import files
from smart_context.llm.offline.embedded import EmbeddedEmbedder, batched, cut, load, padded

GOAL = 0.9


def messages(count):
    """Made-up messages of 4 to 150 common words, most of them short; the same in every run."""
    rng = random.Random(1)
    pieces = files.read_checked(files.FOLDER, files.VOCABULARY).decode().split("\n")[2_000:9_000]
    common = [piece for piece in pieces if piece.isalpha()]
    return [
        " ".join(rng.choices(common, k=min(150, 4 + int(rng.expovariate(1 / 25)))))
        for _ in range(count)
    ]


def bare(forward, batches, workers):
    with ThreadPoolExecutor(workers) as threads:
        start = time.perf_counter()
        list(threads.map(lambda batch: forward(*batch), batches))
        return time.perf_counter() - start


async def ours(embedder, texts):
    start = time.perf_counter()
    await embedder.embed(texts)
    return time.perf_counter() - start


def bare_single(forward, pieces, text):
    ids, lengths = padded(cut(pieces, [text]))
    start = time.perf_counter()
    forward(ids, lengths)
    return time.perf_counter() - start


async def measure(count, rounds):
    texts = messages(count)
    pieces, forward = load(files.FOLDER)
    batches = [padded(batch) for batch in batched(cut(pieces, texts))]
    embedder = EmbeddedEmbedder()
    await embedder.embed(texts[:32])
    pairs = [
        (await ours(embedder, texts), bare(forward, batches, embedder.workers))
        for _ in range(rounds)
    ]
    singles = [
        (await ours(embedder, [text]), bare_single(forward, pieces, text)) for text in texts[:30]
    ]
    await embedder.aclose()
    return pairs, singles, sum(int(lengths.sum()) for _, lengths in batches)


def report(count, pairs, singles, tokens):
    own, peer = (statistics.median(times) for times in zip(*pairs, strict=True))
    print(f"{count} messages, {tokens} tokens")
    print(f"  ours         {count / own:8.1f} messages/s")
    print(f"  bare forward {count / peer:8.1f} messages/s")
    print(f"  ratio        {peer / own:8.2f}   (goal: at least {GOAL})")
    own, peer = (statistics.median(times) * 1e3 for times in zip(*singles, strict=True))
    print(f"one new message: ours {own:.1f} ms, its forward pass {peer:.1f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=800)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    report(chosen.messages, *asyncio.run(measure(chosen.messages, chosen.rounds)))


if __name__ == "__main__":
    main()
