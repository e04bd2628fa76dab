"""A stranger's vault in which a link, a pipe or a device lies wherever a file is looked for."""

import json
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

import pytest

from tests.hostile_places import KINDS, SECRET, lay, make_outside, print_of
from tests.patience import PATIENCE_S
from tests.preloaded import run_to_end
from tests.product.promptness import assert_answers_others
from tests.product.test_hostile_input import MAX_MEMORY_BYTES
from tests.serving import serving
from tests.system_processes import peak_bytes
from tests.vaults import about, write_chat

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")

UPLOADED = "some words of mine".encode("utf-16")
KEY = "a" * 64
SIDE_CARS = [
    "filter.json",
    "topics.json",
    "embeddings.json",
    "embeddings.journal",
    "receipts.jsonl",
    "answer.jsonl",
]
FILES = [
    ".index.json",
    ".calibration.json",
    ".c.json.0123abcd.tmp",
    "whole.json",
    f"files/{KEY}",
    *(f"files/{sha256(UPLOADED).hexdigest()}{suffix}" for suffix in ("", ".json", ".txt")),
    "contexts/mine.json",
    "index/vault.sqlite3",
    "index/words",
    "index/notes.sqlite3",
    "index/notes.sqlite3-journal",
    "trash/c.20260101T000000Z-0001",
]
FOLDERS = ["files", "contexts", "trash", "index"]
NOTES = ["note.md", "folder/.gitignore", ".scignore", "folder/note.md", "linked"]


def write(vault, chat_id):
    """A chat as a stranger may have written it: its first message names a file of the store."""
    first, *others = about("How is the graph walked?", "Node by node.", "Who walks it?", "We do.")
    attached = {"id": "f", "name": "key", "file_type": "text/plain", "storage_key": KEY}
    write_chat(vault, chat_id, [{**first, "files": [attached]}, *others])


def send(server, chat_id):
    return server.command("chat.send", chat_id=chat_id, message="Who walks the graph?")


def use(server, chat_id):
    """All that a user does with a chat; gives what was answered."""
    yield server.request("GET", f"/chats/{chat_id}")
    for name in ("memory.load_chat", "chat.open", "smart_context.get_topics"):
        yield server.command(name, chat_id=chat_id)
    yield server.command("smart_context.set_filter", chat_id=chat_id, topics=["Graph"])
    yield server.command("smart_context.preview", chat_id=chat_id, message="And now?")
    yield send(server, chat_id)
    yield server.command("smart_context.receipts", chat_id=chat_id)
    yield server.command("memory.rename_chat", chat_id=chat_id, title="Walks")
    for name in ("memory.delete_chat", "memory.restore_chat"):
        yield server.command(name, chat_id=chat_id)


def use_vault(server):
    """All that a user does with files, contexts and notes; gives what was answered."""
    yield server.request("GET", f"/api/files/{KEY}")
    yield server.request("POST", "/api/files", UPLOADED, {"X-File-Name": "a.txt"})
    for name in ("memory.list_chats", "smart_context.list_contexts", "smart_context.list_notes"):
        yield server.command(name)
    yield server.command("memory.search", query="graph")
    items = [*NOTES, "linked/a.md", "plain.md", "folder"]
    for key in ("mine", "other"):
        yield server.command("smart_context.get_context", key=key)
        yield server.command("smart_context.save_context", key=key, items=items)
        yield server.command("smart_context.delete_context", key=key)
    yield server.command("smart_context.compile_context", items=items)
    for path in (*NOTES, "linked/a.md", "plain.md"):
        yield server.command("chat.attach_vault_file", path=path)


def check(answers):
    """Each is what was asked for, or an error in words; none holds the secret."""
    for _status, answer in answers:
        text = answer if isinstance(answer, str) else json.dumps(answer)
        assert SECRET not in text
        assert "unexpectedly" not in text
        assert "Something went wrong" not in text


@pytest.fixture
def outside(tmp_path):
    return make_outside(tmp_path)


@pytest.fixture
def vault(tmp_path):
    folder = tmp_path / "vault"
    (folder / "folder").mkdir(parents=True)
    (folder / "plain.md").write_text("# Graph\nThe walker walks the graph.")
    write(folder, "plain")
    return folder


def serve_and_use(vault, outside, chats):
    """Serve a vault and do all that a user does, while others ask for something else."""
    before = print_of(outside)
    with serving(vault) as server, ThreadPoolExecutor(1) as thread:
        using = thread.submit(lambda: check([*use_vault(server), *used(server, chats)]))
        assert_answers_others(server, lambda: not using.done())
        using.result(PATIENCE_S)
        assert send(server, "plain")[0] == 200
        assert peak_bytes(server.process.pid) < MAX_MEMORY_BYTES
        assert server.stop() == 0
    assert print_of(outside) == before
    assert "Traceback" not in "".join(server.errors)


def used(server, chats):
    return (answer for chat_id in chats for answer in use(server, chat_id))


@pytest.mark.parametrize("kind", KINDS)
def test_files_that_are_something_else(vault, outside, kind):
    chats = {f"c{number}": suffix for number, suffix in enumerate(SIDE_CARS)}
    for chat_id, suffix in chats.items():
        write(vault, chat_id)
        lay(kind, vault / ".memory" / f"{chat_id}.{suffix}", outside)
    for name in FILES:
        lay(kind, vault / ".memory" / name, outside)
    for name in NOTES:
        lay(kind, vault / name, outside)
    serve_and_use(vault, outside, [*chats, "whole"])


@pytest.mark.parametrize("kind", ["a link to a folder", "a FIFO", "a file of 5 GB"])
def test_folders_that_are_something_else(vault, outside, kind):
    for name in FOLDERS:
        lay(kind, vault / ".memory" / name, outside)
    serve_and_use(vault, outside, ["plain"])


def replace_by_link(folder, target):
    """Move a folder away and put a link in its place, also if a server makes it anew meanwhile."""
    for number in range(100):
        folder.rename(folder.with_name(f"moved{number}"))
        try:
            folder.symlink_to(target)
        except FileExistsError:
            continue
        return
    raise AssertionError("the folder comes back again and again")


def test_a_memory_folder_that_becomes_a_link_while_it_is_served(vault, outside):
    (outside / "plain.json").write_text((vault / ".memory" / "plain.json").read_text())
    (outside / "trash").mkdir()
    before = print_of(outside)
    with serving(vault) as server:
        assert send(server, "plain")[0] == 200
        replace_by_link(vault / ".memory", outside)
        check(use_vault(server))
        check(use(server, "plain"))
        check(use(server, "new"))
        assert server.stop() == 0
    assert print_of(outside) == before
    assert "Traceback" not in "".join(server.errors)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [".vault.toml", ".memory"])
def test_what_a_vault_is_served_by_is_refused_in_words(vault, outside, kind, name):
    shutil.rmtree(vault / ".memory")
    lay(kind, vault / name, outside)
    before = print_of(outside)
    code, _, told = run_to_end(["chats", "list"], cwd=vault)
    if kind == "a folder" and name == ".memory":
        assert code == 0
    else:
        assert code == 2
        assert "expected a f" in told or "larger than" in told
        assert "Traceback" not in told
    assert print_of(outside) == before
