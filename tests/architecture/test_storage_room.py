"""Nobody but `storage/files`, with `base/disk`, opens anything below the memory folder."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "smart_context"
OPENING = {"databases", "files", "folders", "json_file", "shared_file"}
"""The modules of `base/disk` whose functions open, list, change or remove files."""

ELSEWHERE = {
    "app/settings.py": "the settings",
    "base/config/document.py": "the settings",
    "base/config/provider_keys.py": "the folder of the user's settings",
    "cli/chats/evaluate.py": "a report that the user names on the command line",
    "cli/evaluation/runs.py": "the user's cache folder",
    "cli/notes/pack.py": "a file that the user names on the command line",
    "cli/server/plugins.py": "the plugins' folders, and the settings",
    "cli/server/serve.py": "the modes of files that it copies",
    "cli/server/setup.py": "a new vault",
    "cli/terminal/output.py": "a file that the user names on the command line",
    "host/clearing.py": "the folder of the user's settings",
    "packing/files/sources.py": "an error of reading notes",
    "packing/roles.py": "roles",
    "packing/templates/templates.py": "templates",
    "vault/guarded/files.py": "notes",
    "vault/guarded/paths.py": "the names in folders of notes",
    "vault/guarded/repository.py": "a repository's own files",
    "vault/guarded/scopes.py": "ignore files",
    "vault/guarded/walk.py": "notes",
    "vault/trust/files.py": "what is to be trusted",
    "vault/trust/vault.py": "the folder of the user's settings",
    "web/gate/client_keys.py": "the folder of the user's settings",
    "web/gate/session_record.py": "the folder of the user's settings",
}
"""Who opens files that are not below the memory folder, and which."""

PORTLESS = ("base/disk/", "storage/files/")


def disk_modules(source):
    """The modules of `base/disk` that open files and that a module imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            package, _, name = node.module.rpartition(".")
            if package == "smart_context.base.disk" and name in OPENING:
                yield name
            if node.module == "smart_context.base.disk":
                yield from (alias.name for alias in node.names if alias.name in OPENING)
        if isinstance(node, ast.Import):
            names = (alias.name.rpartition(".") for alias in node.names)
            yield from (n for p, _, n in names if p == "smart_context.base.disk" and n in OPENING)


def openers():
    """Every module outside of the room that imports what opens files."""
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith(PORTLESS) and list(disk_modules(path.read_text(encoding="utf-8"))):
            yield name


def test_only_those_import_what_opens_files_who_say_which():
    assert set(openers()) == set(ELSEWHERE), "ask storage, or say which files outside of it"


@pytest.mark.parametrize(
    "fault",
    [
        "from smart_context.base.disk.files import read_file",
        "from smart_context.base.disk import folders",
        "import smart_context.base.disk.files",
        "def later():\n    from smart_context.base.disk.databases import open_database",
    ],
)
def test_a_planted_import_is_found(fault):
    assert list(disk_modules(fault))


def test_a_place_alone_opens_nothing():
    assert not list(disk_modules("from smart_context.base.disk.places import Place"))


PROBE = r"""
import asyncio, json, os, sys
from pathlib import Path

root, outside = Path(sys.argv[1]), Path(sys.argv[2])
memory = str(root / ".memory")
found = set()
EVENTS = {"open", "os.listdir", "os.scandir", "os.mkdir", "os.remove", "os.rename", "os.rmdir",
          "os.truncate", "os.utime", "sqlite3.connect"}

def audit(event, args):
    if event not in EVENTS or not args or not isinstance(args[0], (str, bytes, os.PathLike)):
        return
    path, opener, frame = os.fsdecode(args[0]), "", sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        own = name.partition("smart_context/")[2] if "/smart_context/" in name else ""
        if not os.path.isabs(path) and own == "base/disk/folders.py":
            folder = frame.f_locals.get("self") or frame.f_locals.get("folder")
            path = os.path.join(str(getattr(folder, "path", "")), path)
        if own and not own.startswith("base/") and not opener:
            opener = own
        frame = frame.f_back
    if os.path.abspath(path).startswith(memory):
        found.add(opener)

sys.addaudithook(audit)

from smart_context.base.values import OWNER
from smart_context.app.composition import VaultParts, make_host, notes_of
from smart_context.base.processes.child import Children
from smart_context.gateway.identity.issued import answer_of
from smart_context.gateway.turns.document import RequestRecorder
from smart_context.gateway.turns.finding import ChatFinder
from smart_context.host.commands.registry import Caller
from smart_context.host.models import Models
from tests.scripted import ScriptedChatModel, ScriptedEmbedder
from smart_context.storage.files.storage import file_storage
from smart_context.vault.guarded.files import VaultFiles
from smart_context.vault.trust.vault import TrustRecord
from smart_context.vault.trust.vault import VaultTrust
from tests.trusting import grant_all, settings_of

def parts_of(config):
    storage = file_storage(config.memory)
    models = Models(chat=ScriptedChatModel(lambda _: "An answer about boats"), fast=None,
                    embedder=ScriptedEmbedder(dimension=8), chat_is_embedded=False)
    return VaultParts(config=config, storage=storage, children=Children(),
                 notes=notes_of(config, storage.caches), models=models)

async def use():
    trust = VaultTrust(root, TrustRecord(outside / "trust.json"))
    grant_all(trust, settings_of(root, trust))
    host = make_host(parts_of(settings_of(root, trust)), repairs=True)
    await host.start()
    async def call(name, **params):
        return await host.commands.call(name, params, Caller(OWNER))
    file = await host.services.storage.blobs.put("a.txt", "a".encode("utf-16"))
    for text in ("Tell me about cats.", "And boats?", "Cats again."):
        await call("chat.send", chat_id="c", message=text, stream=False, files=[file.to_dict()])
    await call("smart_context.refresh_topics", chat_id="c", wait=True)
    topics = (await host.services.storage.chats.load("c"))["topics"]
    await call("smart_context.set_filter", chat_id="c", topics=[topics[0]["label"]])
    await call("smart_context.preview", chat_id="c", message="Now?")
    await call("smart_context.receipts", chat_id="c")
    await call("smart_context.suggest_notes", chat_id="c")
    await call("smart_context.save_context", key="k", items=["a.md"])
    await call("memory.list_chats")
    await call("memory.search", query="cats")
    await host.services.storage.chats.listing.faults()
    await call("memory.delete_chat", chat_id="c")
    await call("memory.restore_chat", chat_id="c")
    storage = host.services.storage
    await ChatFinder(RequestRecorder(storage.chats).text_of, storage.logs).note(
        "key", answer_of("The keeper lit the lamp at dusk and kept it so.", chat="c", message="m")
    )
    await asyncio.to_thread(storage.clear_up, 9e9)
    await host.stop()

asyncio.run(use())
if "planted" in sys.argv:
    VaultFiles(root).read(".memory/c.json")
print(json.dumps(sorted(found)))
"""


def opened_by(tmp_path, *options):
    """The modules that open something below the memory folder in a run of the product."""
    vault, outside = tmp_path / "vault", tmp_path / "outside"
    vault.mkdir()
    outside.mkdir()
    (vault / "a.md").write_text("# Cats\n\nCats and boats.\n")
    done = subprocess.run(
        [sys.executable, "-c", PROBE, str(vault), str(outside), *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.slow
def test_a_run_of_the_product_opens_its_memory_folder_in_storage_only(tmp_path):
    found = opened_by(tmp_path)
    assert [name for name in found if not name.startswith("storage/files/")] == []
    opens = ("answers", "blobs", "caches", "chat_files", "documents", "logs", "trash", "vectors")
    assert {f"storage/files/{name}.py" for name in opens} <= found


@pytest.mark.slow
def test_somebody_else_who_opens_a_file_there_is_found(tmp_path):
    assert "vault/guarded/files.py" in opened_by(tmp_path, "planted")
