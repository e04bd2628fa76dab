"""Packing a tree into a prompt, whole process, beside other packers and the machine's limit.

    python -m tests.benchmarks.bench_packing [--rounds 9] [--peers files-to-prompt repo-to-text]

The trees are rebuilt: a repository of 400 files, a tree of 5,000 and a vault of 1,000 notes.
"Limit" is a process that walks the tree, reads every file and writes it. Peers are those of the
named programs that are on the PATH. All run in turns; medians of processor time in milliseconds,
of which a busy machine changes least. The goals are at most half the fastest peer, at most twice
the limit, and at most 60 MB.
"""

import argparse
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.vaults import make_vault

OURS = """
import sys
from smart_context.packing import ContextPacker, RoleConfig, RoleContext
role = RoleConfig("all", token_budget=10**9, context=RoleContext(include=("**",)))
sys.stdout.write(ContextPacker(sys.argv[1]).plan_files(role).render())
"""
PACK_ALL = ("--include", "**")
IMPORT = "import smart_context.packing"
LIMIT = """
import os, sys
out = sys.stdout.buffer
def walk(folder):
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            walk(entry.path)
        else:
            with open(entry.path, "rb") as file:
                out.write(file.read())
walk(sys.argv[1])
"""
LINES = (
    "def {name}(value: int, *, limit: int = 10) -> int:\n",
    '    """Give the {name} of a value, at most the limit."""\n',
    "    if value > limit:\n        raise ValueError(f'too large: {{value}}')\n",
    "    return sum(part * {number} for part in range(value))\n\n\n",
)


def make_repository(root: Path, files: int, *, functions: int = 28, seed: int = 1) -> None:
    """Python files of so many functions (220 bytes each) on average; ignore files at two depths."""
    chance = random.Random(seed)
    for number in range(files):
        folder = root / f"part{number // 100}" / f"area{number // 10}"
        folder.mkdir(parents=True, exist_ok=True)
        text = "".join(
            line.format(name=f"f{at}", number=chance.randint(1, 999))
            for at in range(chance.randint(1, 2 * functions - 1))
            for line in LINES
        )
        (folder / f"module{number}.py").write_text(text, encoding="utf-8")
    (root / ".gitignore").write_text("*.log\nbuild/\n!keep.log\n", encoding="utf-8")
    (root / "part0" / ".gitignore").write_text("*.tmp\n", encoding="utf-8")


def run_ms(command: list[str], cwd: str) -> float:
    """The processor time of a process and of those that it waited for."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, cwd=cwd, stdin=subprocess.DEVNULL, **quiet)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return (used.ru_utime + used.ru_stime) * 1000


def measure(root: Path, peers: list[str], rounds: int) -> dict[str, float]:
    python = sys.executable
    commands = {
        "ours": [python, "-c", OURS, str(root)],
        "limit": [python, "-c", LIMIT, str(root)],
        "our command": [python, "-m", "smart_context", "pack", "--repo", str(root), *PACK_ALL],
        "our imports": [python, "-c", IMPORT],
        "nothing": [python, "-c", "pass"],
        **{name: [shutil.which(name), str(root)] for name in peers if shutil.which(name)},
    }
    with tempfile.TemporaryDirectory() as cwd:  # some peers leave a file where they are run
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(rounds):
            for name, command in commands.items():
                times[name].append(run_ms(command, cwd))
    return {name: statistics.median(each) for name, each in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--peers", nargs="*", default=["files-to-prompt", "repo-to-text"])
    chosen = parser.parse_args()
    makers = {
        "400-file repository": lambda root: make_repository(root, 400),
        "5,000-file tree": lambda root: make_repository(root, 5000, functions=8),
        "1,000-note vault": lambda root: make_vault(root, 1000),
    }
    for name, make in makers.items():
        with tempfile.TemporaryDirectory() as folder:
            make(Path(folder))
            times = measure(Path(folder), chosen.peers, chosen.rounds)
        told = ", ".join(f"{what} {ms:.0f} ms" for what, ms in times.items())
        fastest = min((times[peer] for peer in chosen.peers if peer in times), default=0.0)
        ratio = f", {times['ours'] / fastest:.2f} of the fastest peer" if fastest else ""
        limit = f"{times['ours'] / times['limit']:.2f} of the limit"
        sys.stdout.write(f"{name}: {told}: {limit}{ratio}\n")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    sys.stdout.write(f"the most memory of any of these processes: {peak:.0f} MB\n")


if __name__ == "__main__":
    main()
