"""The vault's index, beside its peers and what the disk allows.

    python -m tests.benchmarks.bench_index [--notes 1000 10000] [--rounds 5]

Everything runs in one process on one generated vault, turn by turn; the best of the rounds counts,
as CPU time, since what is measured is work. `limit` is reading and decoding all files, and for
an unchanged vault scandir and stat. Peers that are not installed are left out. Goals: cold at
most 5 times the limit; warm at most 1.5 times at 6,000 notes and more; one changed note at most
1 ms, and the same in any vault.
"""

import argparse
import gc
import os
import shutil
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

from smart_context.vault.index.kept_words import WORDS_FILE
from smart_context.vault.index.passages import VaultPassages
from tests.benchmarks.vaults import make_vault
from tests.vaults import kept_index


def best_ms(work, rounds):
    """The least CPU time of some rounds, in milliseconds."""
    times = []
    for _ in range(rounds):
        gc.collect()
        began = time.process_time()
        work()
        times.append((time.process_time() - began) * 1000)
    return min(times)


def read_all(root):
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            with open(os.path.join(folder, name), "rb") as file:  # noqa: PTH118, PTH123 — the limit
                file.read().decode()


def stat_all(root):
    pending = [root]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    entry.stat()
                elif not entry.name.startswith("."):
                    pending.append(entry.path)


def index_cold(root):
    shutil.rmtree(root / ".memory", ignore_errors=True)
    index_warm(root)


def index_warm(root):
    index = kept_index(root, root / ".memory")
    index.refresh()
    index.close()


def change_one_ms(root, path, rounds=20):
    """Milliseconds to take in one changed note and to ask who links to it."""
    index = kept_index(root, root / ".memory")
    index.refresh()
    note = root / path
    text = note.read_text()
    index.backlinks(path)
    times = []
    for number in range(rounds):
        note.write_text(f"{text}\n[[Note {number}]]\n")
        began = time.perf_counter()
        index.update([path])
        index.backlinks(path)
        times.append((time.perf_counter() - began) * 1000)
    note.write_text(text)
    index.update([path])
    index.close()
    return sorted(times)[rounds // 2]


def first_search(root):
    """The first search after a start; with the memory folder there, the word index is kept."""
    index = kept_index(root, root / ".memory")
    assert VaultPassages(index).find("what did we decide about rain and seeds", 5)
    index.close()


def first_search_unkept(root):
    (root / ".memory" / "index" / WORDS_FILE).unlink(missing_ok=True)
    first_search(root)


def bytes_per_note(root, notes):
    """Python memory of an index whose links were all asked for."""
    tracemalloc.start()
    index = kept_index(root, root / ".memory")
    index.refresh()
    before, _ = tracemalloc.get_traced_memory()
    for path in index.names.all():
        index.links(path)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    index.close()
    return max(after, before) / notes


def peers(root):
    """Cold runs of what others offer, by name."""
    found = {}
    try:
        from markdown_it import MarkdownIt  # noqa: PLC0415 — may be missing

        parser = MarkdownIt()
        notes = sorted(root.rglob("*.md"))
        found["markdown-it-py, parsing only"] = lambda: [
            parser.parse(note.read_text(encoding="utf-8")) for note in notes
        ]
    except ImportError:
        pass
    try:
        import obsidiantools.api as obsidiantools  # noqa: PLC0415 — may be missing

        found["obsidiantools connect()"] = lambda: obsidiantools.Vault(root).connect()
    except ImportError:
        pass
    try:
        import obsidian_parse  # noqa: PLC0415 — may be missing

        notes = sorted(root.rglob("*.md"))
        found["obsidian-parse, no backlinks"] = lambda: [
            obsidian_parse.parse_file(note) for note in notes
        ]
    except ImportError:
        pass
    return found


def report(notes, rounds):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        paths = make_vault(root, notes)
        read, stat = (best_ms(lambda work=w: work(root), rounds) for w in (read_all, stat_all))
        cold = best_ms(lambda: index_cold(root), rounds)
        index_warm(root)
        warm = best_ms(lambda: index_warm(root), rounds)
        one = change_one_ms(root, paths[notes // 2])
        lines = [f"{notes} notes", f"  limit: read + decode  {read:9.1f} ms"]
        lines.append(f"  cold index            {cold:9.1f} ms  {cold / read:5.2f}x (goal 5)")
        if notes <= 1_000:
            for name, work in peers(root).items():
                took = best_ms(work, 1)
                lines.append(f"  {name:30} {took:9.1f} ms  {took / cold:5.2f}x ours")
        lines.append(f"  limit: scandir + stat {stat:9.1f} ms")
        lines.append(f"  warm index            {warm:9.1f} ms  {warm / stat:5.2f}x (goal 1.5)")
        lines.append(f"  one changed note      {one:9.2f} ms  (goal 1)")
        built = best_ms(lambda: first_search_unkept(root), 1)
        kept = best_ms(lambda: first_search(root), rounds)
        lines.append(f"  first search, words read from notes {built:9.1f} ms")
        lines.append(f"  first search, words kept            {kept:9.1f} ms  (goal 1000 at 50,000)")
        lines.append(f"  memory                {bytes_per_note(root, notes):9.0f} bytes a note")
        sys.stdout.write("\n".join(lines) + "\n")


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--notes", type=int, nargs="+", default=[1_000, 10_000])
    arguments.add_argument("--rounds", type=int, default=5)
    chosen = arguments.parse_args()
    for notes in chosen.notes:
        report(notes, chosen.rounds)


if __name__ == "__main__":
    main()
