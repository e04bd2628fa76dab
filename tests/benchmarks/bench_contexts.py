"""A named context of ten notes in a large vault, beside reading the notes that are in it.

    python -m tests.benchmarks.bench_contexts [--notes 10000] [--rounds 15]

The index is there and has been asked before, as in a running server. `limit` is reading and
decoding the notes that the snapshot holds. Goals: without a size limit at most 1.5 times it;
with 100,000 characters, two links deep and with backlinks, at most 4 times.

Last comes the whole vault with 32,000 characters, as a turn that has it attached weighs it while
the vault is watched and nothing changes. Its limit is to sort the notes by their lengths.
"""

import argparse
import gc
import sys
import tempfile
import time
from pathlib import Path

from smart_context.contexts import SmartContexts
from tests.benchmarks.vaults import make_vault

CASES = {
    "ten notes": ({}, 1.5),
    "one link deep": ({"link_depth": 1}, 1.5),
    "two deep, backlinks, 100,000 characters": (
        {"link_depth": 2, "inlinks": True, "max_len": 100_000},
        4.0,
    ),
}

WHOLE_VAULT = {
    "plain": {},
    "one link deep": {"link_depth": 1},
    "without some headings": {"excluded_headings": ["the*"]},
    "embeds expanded": {"expand_embeds": True},
}


def best_ms(work, rounds):
    times = []
    for _ in range(rounds):
        gc.collect()
        began = time.process_time()
        work()
        times.append((time.process_time() - began) * 1000)
    return min(times)


def read_notes(root, paths):
    return [len((root / path).read_bytes().decode()) for path in paths]


def report(notes, rounds):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        paths = make_vault(root, notes)
        contexts = SmartContexts(root)
        context = contexts.create(dict.fromkeys(paths[:: notes // 10], True))
        contexts.index.refresh()
        for name, (opts, goal) in CASES.items():
            snapshot = context.get_snapshot(**opts)
            held = [path for texts in snapshot.items.values() for path in texts]
            limit = best_ms(lambda held=held: read_notes(root, held), rounds)
            ours = best_ms(lambda opts=opts: context.get_snapshot(**opts), rounds)
            sys.stdout.write(
                f"{name}: {len(held)} notes in, {len(snapshot.skipped_items)} skipped\n"
                f"  limit {limit:8.2f} ms   ours {ours:8.2f} ms"
                f"   {ours / limit:5.2f}x (goal {goal})\n"
            )
        report_whole_vault(contexts, rounds)
        contexts.close()


def report_whole_vault(contexts, rounds):
    index = contexts.index
    index.is_watched = True
    context = contexts.create({".": True}, "whole")
    paths = index.files_below("")
    limit = best_ms(lambda: sorted(index.lengths(paths)), rounds)
    for name, opts in WHOLE_VAULT.items():
        ours = best_ms(lambda opts=opts: context.get_snapshot(max_len=32_000, **opts), rounds)
        sys.stdout.write(
            f"whole vault, {name}: {len(paths)} notes\n"
            f"  limit {limit:8.2f} ms   ours {ours:8.2f} ms"
            f"   {1000 * ours / len(paths):5.2f} µs a note\n"
        )


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--notes", type=int, default=10_000)
    arguments.add_argument("--rounds", type=int, default=15)
    chosen = arguments.parse_args()
    report(chosen.notes, chosen.rounds)


if __name__ == "__main__":
    main()
