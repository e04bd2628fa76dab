"""What is left when the process is killed, and when several write at once."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from smart_context.base.values import OWNER
from smart_context.storage.files.chats import FileChats
from tests.chat.made_documents import ids
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ROOT = Path(__file__).parents[2]

APPEND_FOR_EVER = """
import asyncio, itertools, sys
from pathlib import Path
from smart_context.storage.files.chats import FileChats

async def main(folder, first):
    store = FileChats(Path(folder))
    for number in itertools.count(int(first)):
        await store.update("c", lambda document: document["messages"].append(
            {"id": str(number), "role": "user", "content": str(number) * 2000}))
        print(number, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""

APPEND_FORTY = """
import asyncio, sys
from pathlib import Path
from smart_context.storage.files.chats import FileChats

async def main(folder, name):
    store = FileChats(Path(folder))
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(40):
        await store.update("c", lambda document: document["messages"].append(
            {"id": f"{name}{number}", "role": "user", "content": "x" * 100}))

asyncio.run(main(*sys.argv[1:]))
"""


def start(program, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def kill_after(process, saves):
    """The last number that was acknowledged before the kill."""
    with process:
        for _ in range(saves):
            process.stdout.readline()
        process.kill()
        rest = process.stdout.read().split()
    return int(rest[-1]) if rest else None


async def test_a_kill_loses_no_acknowledged_save_and_leaves_no_half_document(tmp_path):
    chance = random.Random(20260301)
    following = 0
    for _ in range(6):
        saves = chance.randint(1, 25)
        last = kill_after(start(APPEND_FOR_EVER, tmp_path, following), saves)
        acknowledged = max(following + saves - 1, last if last is not None else 0)
        document = json.loads((tmp_path / "c.json").read_bytes())
        stored = [int(one) for one in ids(document)]
        assert stored == list(range(len(stored)))
        assert acknowledged in stored
        following = len(stored)
    assert ids(await FileChats(tmp_path).load("c")) == [str(n) for n in range(following)]
    assert [chat.id for chat in await FileChats(tmp_path).listing.rows(OWNER)] == ["c"]


async def test_two_processes_on_one_chat_lose_no_message(tmp_path):
    writers = [start(APPEND_FORTY, tmp_path, name) for name in "ab"]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=PATIENCE_S)
        assert writer.returncode == 0
    found = ids(await FileChats(tmp_path).load("c"))
    for name in "ab":
        assert [one for one in found if one.startswith(name)] == [f"{name}{n}" for n in range(40)]
