"""What a preview costs the server: for each letter typed, bubble hovered, step of the slider.

    OPENBLAS_NUM_THREADS=1 python -m tests.benchmarks.bench_preview [--messages 1000 10000]

Milliseconds of processor time: the first after the server has started and the chat was shown,
the median and the worst of those that follow. Goal: 10 ms at 10,000 messages.
"""

import argparse
import asyncio
import statistics
import tempfile
from pathlib import Path

from smart_context.base.values import OWNER
from smart_context.host.commands.registry import Caller
from tests.benchmarks.bench_filter import LABELS, Clock, RandomEmbedder, host_of

QUESTION = "How deep are the roots of an old garden, and what does it take to move one?"
CHOICES = {
    "a letter, everything in context": {},
    "a letter, three topics picked": {},
    "a bubble hovered": {"topics": LABELS[:2]},
    "a step of the slider": {"threshold": 0.45},
}


async def bench(count, folder):
    embedder = RandomEmbedder()
    host = host_of(folder, count, embedder)
    await host.start()

    async def call(name, **params):
        return await host.commands.call(name, {"chat_id": "long", **params}, Caller(OWNER))

    await call("smart_context.get_topics")
    for name, params in CHOICES.items():
        if "three" in name:
            await call("smart_context.set_filter", topics=LABELS)
        clock, embedded = Clock(), embedder.texts
        for end in range(1, len(QUESTION) + 1):
            clock.start()
            await call("smart_context.preview", message=QUESTION[:end], brief=True, **params)
            clock.stop()
        first, *others = [1000 * taken for taken in clock.cpus]
        typical, worst = statistics.median(others), max(others)
        texts = embedder.texts - embedded
        print(f"{name:<40}{first:>9.2f}{typical:>9.2f}{worst:>9.2f} ms   {texts} texts embedded")
    await host.stop()


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--messages", type=int, nargs="*", default=[1_000, 10_000])
    for count in options.parse_args().messages:
        print(f"{f'{count} messages':<40}{'first':>9}{'median':>9}{'worst':>9}")
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(bench(count, Path(folder)))


if __name__ == "__main__":
    main()
