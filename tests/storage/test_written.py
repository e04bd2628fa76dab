"""A memory folder that an earlier version wrote, by running, opens unchanged.

`written/memory` was made by version 0.1.0 before its storage had a room of its own: chats with
topics, a filter, receipts, an attached file, vectors with a journal, a chat in the trash, a named
context, a calibration, a client's record, and an answer that a kill interrupted.
"""

import shutil
from contextlib import asynccontextmanager
from hashlib import blake2b
from pathlib import Path

import pytest

from smart_context.app.composition import WindowedHistoryBuilder
from smart_context.base.values import OWNER
from smart_context.contexts import SmartContexts
from smart_context.gateway.identity.record import IssuedRecord
from smart_context.host.commands.registry import Caller
from smart_context.host.host import Host, HostOptions, Models
from smart_context.host.turns.transcript import INTERRUPTED
from smart_context.relevance.judge.fitting import stored_scale
from smart_context.storage.files.storage import file_storage
from smart_context.vault.trust.vault import TrustRecord, VaultTrust
from tests.host.conftest import until
from tests.scripted import ScriptedChatModel, ScriptedEmbedder
from tests.trusting import grant_all, settings_of

pytestmark = pytest.mark.anyio

WRITTEN = Path(__file__).parent / "written" / "memory"
FILE = "7f54f7040adf2362595437534bdc353be9be14950e30ee83e0005b7d3721427f"


@pytest.fixture
def memory(tmp_path):
    vault = tmp_path / "vault"
    shutil.copytree(WRITTEN, vault / ".memory")
    (vault / "cats.md").write_text("# Cats\n\nThe cats sleep in the warm kitchen. [[boats]]\n")
    (vault / "boats.md").write_text("# Boats\n\nThe boats leave at dawn.\n")
    return vault / ".memory"


@pytest.fixture
def served(memory, tmp_path):
    """Serves the vault, with or without repairs; gives the host and its embedder."""

    @asynccontextmanager
    async def serve(*, repairs):
        trust = VaultTrust(memory.parent, TrustRecord(tmp_path / "trust.json"))
        grant_all(trust, settings_of(memory.parent, trust))
        config, embedder = settings_of(memory.parent, trust), ScriptedEmbedder(dimension=8)
        storage = file_storage(config.memory)
        host = Host(
            config=config,
            storage=storage,
            models=Models(
                chat=ScriptedChatModel(lambda _: "An answer"),
                fast=None,
                embedder=embedder,
                chat_is_embedded=False,
            ),
            trust=trust,
            build_history=WindowedHistoryBuilder(lambda: host.config),
            options=HostOptions(repairs=repairs),
        )
        await host.start()
        try:
            yield host, embedder
        finally:
            await host.stop()

    return serve


async def call(host, name, **params):
    return await host.commands.call(name, params, Caller(OWNER))


def prints(folder):
    return {
        path.relative_to(folder).as_posix(): blake2b(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and "index" not in path.relative_to(folder).parts[0]
    }


async def test_all_of_it_is_read_and_none_of_it_is_changed(served, memory):
    before = prints(memory)
    async with served(repairs=False) as (host, embedder):
        rows = (await call(host, "memory.list_chats"))["chats"]
        assert {row["id"]: row["message_count"] for row in rows} == {
            "subjects": 12,
            "long": 259,
            "interrupted": 2,
        }
        assert "Cats, boats and bread" in {row["title"] for row in rows}
        topics = await call(host, "smart_context.get_topics", chat_id="subjects")
        assert topics["active_topics"] == ["Cats & Boats"]
        assert topics["pinned"] == ["cb9745d0d22b"]
        shown = await call(host, "smart_context.preview", chat_id="subjects", message="And now?")
        assert shown["messages"]
        receipts = (await call(host, "smart_context.receipts", chat_id="subjects"))["receipts"]
        assert [r["turn"] for r in receipts][::5] == ["9d4e63a3", "388909c4"]
        long = await host.services.storage.chats.load("long")
        assert long["kept"] == {"by": "somebody", "a lone surrogate": "\ud800", "nul": "\0"}
        await call(host, "smart_context.preview", chat_id="long", message="And now?")
        stored = {text for asked in embedder.asked for text in asked}
        assert not stored & {message["content"] for message in long["messages"]}
        assert (
            await host.services.storage.blobs.read(FILE) == "The harbour opens at six, über Nacht"
        )
        assert (await host.services.storage.blobs.info(FILE)).name == "harbour.txt"
        await host.services.storage.chats.listing.search(OWNER, "harbour")
    for name, content in before.items():
        if not name.startswith("long.embeddings"):  # the journal is folded at the end
            assert prints(memory)[name] == content, name


async def test_a_deleted_chat_comes_back_with_its_receipt(served):
    async with served(repairs=False) as (host, _):
        await call(host, "memory.restore_chat", chat_id="gone")
        receipts = (await call(host, "smart_context.receipts", chat_id="gone"))["receipts"]
        messages = (await host.services.storage.chats.load("gone"))["messages"]
    assert messages[0]["content"] == "Forget this."
    assert receipts[0]["question"] == messages[0]["id"]


async def test_the_interrupted_answer_has_what_had_arrived(served, memory):
    async with served(repairs=True) as (host, _):
        await until(lambda: not (memory / "interrupted.answer.jsonl").exists())
        _, answer = (await host.services.storage.chats.load("interrupted"))["messages"]
    assert answer["content"] == "It begins, and is cut"
    assert answer["error"] == INTERRUPTED


async def test_contexts_calibration_and_the_clients_answers_are_found(memory):
    contexts = SmartContexts(memory.parent)
    assert contexts.keys() == ["Cats/one: two"]
    assert contexts.get("Cats/one: two").context_opts == {"link_depth": 1}
    compiled = contexts.get("Cats/one: two").compile().context
    assert "warm kitchen" in compiled
    assert "leave at dawn" in compiled
    contexts.close()
    storage = file_storage(memory)
    assert stored_scale(storage.vault_documents, "scripted").probable == 0.4498
    record = IssuedRecord(storage.logs, "key")
    await record.refresh()
    assert record.issued.by_response == {"resp_1": "subjects"}
