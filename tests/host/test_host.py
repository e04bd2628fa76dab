"""The host as a whole: memory.* and system.* commands, events, reload, start and stop."""

import asyncio
import json

import pytest

from smart_context.base.errors import (
    ChatIdInvalid,
    CommandFailed,
    Fault,
    InvalidParams,
    UnknownCommand,
)
from smart_context.host.access import EVERYBODY
from tests.host.conftest import until
from tests.patience import PATIENCE_S
from tests.scripted import Scripted

pytestmark = pytest.mark.anyio


async def test_a_chat_is_saved_loaded_and_told(bench):
    data = {"messages": [{"id": "a", "role": "user", "content": "Hi"}], "mine": [1]}
    saved = await bench.call("memory.save_chat", chat_id="c1", data=data)
    assert saved == {"chat_id": "c1", "total_messages": 1}
    assert await bench.call("memory.load_chat", chat_id="c1") == data
    assert bench.named("memory.chat_changed") == [{"chat_id": "c1"}]


async def test_a_chat_that_does_not_exist_has_no_messages(bench):
    assert await bench.call("memory.load_chat", chat_id="c9") == {"messages": []}
    assert bench.events == []


async def test_chats_are_listed_found_renamed_deleted_and_restored(bench):
    await bench.call("chat.send", message="Where do parrots sleep?", chat_id="c1")
    (chat,) = (await bench.call("memory.list_chats"))["chats"]
    assert (chat["id"], chat["title"], chat["message_count"]) == (
        "c1",
        "Where do parrots sleep?",
        2,
    )
    hits = (await bench.call("memory.search", query="parrots"))["results"]
    assert {hit["chat_id"] for hit in hits} == {"c1"}
    assert (await bench.call("memory.search", query="parrots", limit=-5))["results"]

    await bench.call("memory.arrange_chats", chat_ids=["c1"], folder=" Animals\n ", pinned=True)
    await bench.call("memory.arrange_chats", chat_ids=["c1"], pinned=False, archived=True)
    (row,) = (await bench.call("memory.list_chats"))["chats"]
    assert (row["folder"], row.get("pinned"), row["archived"]) == ("Animals", None, True)
    await bench.call("memory.rename_chat", chat_id="c1", title="Birds")
    assert (await bench.call("memory.list_chats"))["chats"][0]["title"] == "Birds"
    await bench.call("memory.delete_chat", chat_id="c1")
    assert (await bench.call("memory.list_chats")) == {"chats": []}
    await bench.call("memory.restore_chat", chat_id="c1")
    assert (await bench.call("memory.list_chats"))["chats"][0]["title"] == "Birds"


async def test_deleting_a_chat_stops_its_answer_first(bench):
    bench.reply(Scripted(gate=asyncio.Event()))
    task = asyncio.create_task(bench.call("chat.send", message="Hi", chat_id="c1"))
    await until(lambda: bench.model.asked)
    await bench.call("memory.delete_chat", chat_id="c1")
    await task
    assert not await bench.host.services.storage.chats.exists("c1")


@pytest.mark.parametrize("chat_id", ["../x", "", "a/b", "ä", "x" * 129, "con"])
@pytest.mark.parametrize(
    ("command", "params"),
    [
        ("memory.load_chat", {}),
        ("memory.save_chat", {"data": {"messages": []}}),
        ("memory.rename_chat", {"title": "x"}),
        ("memory.delete_chat", {}),
        ("memory.restore_chat", {}),
        ("chat.open", {}),
        ("chat.send", {"message": "x"}),
        ("chat.stop", {}),
        ("chat.regenerate", {"message_id": "x"}),
        ("chat.edit", {"message_id": "x", "text": "x"}),
        ("chat.list_versions", {}),
        ("chat.show_version", {"message_id": "x"}),
    ],
)
async def test_an_id_that_could_not_be_a_file_is_refused(bench, command, params, chat_id):
    with pytest.raises(ChatIdInvalid):
        await bench.call(command, chat_id=chat_id, **params)
    assert list(bench.vault.parent.rglob("*.json")) == []


async def test_a_chat_changed_by_another_program_is_told(bench):
    await bench.call("memory.save_chat", chat_id="c1", data={"messages": []})
    await until(lambda: bench.named("memory.chat_changed"))
    path = bench.vault / ".memory" / "c2.json"
    path.write_text(json.dumps({"messages": [{"role": "user", "content": "Synced"}]}))
    await until(lambda: {"chat_id": "c2"} in bench.named("memory.chat_changed"))


async def test_every_command_is_listed_with_its_parameters(bench):
    listed = {c["name"]: c for c in (await bench.call("system.commands"))["commands"]}
    assert {
        "chat.new",
        "chat.open",
        "chat.send",
        "chat.stop",
        "chat.regenerate",
        "chat.edit",
        "chat.set_instructions",
        "chat.set_model",
        "chat.set_private",
        "chat.list_versions",
        "chat.show_version",
        "chat.attach_vault_file",
        "chat.compact",
        "chat.clear_context",
        "chat.undo_compaction",
        "memory.load_chat",
        "memory.save_chat",
        "memory.list_chats",
        "memory.find",
        "memory.search",
        "memory.rename_chat",
        "memory.arrange_chats",
        "memory.delete_chat",
        "memory.restore_chat",
        "memory.copy_chat",
        "memory.fork",
        "memory.share_chat",
        "memory.list_trash",
        "memory.purge_chat",
        "memory.empty_trash",
        "system.commands",
        "system.plugins",
    } == listed.keys()
    assert listed["chat.send"]["params"]["required"] == ["message"]
    assert all(command["description"] for command in listed.values())


async def test_wrong_parameters_are_told_before_anything_happens(bench):
    with pytest.raises(InvalidParams, match="data: missing"):
        await bench.call("memory.save_chat", chat_id="c1")
    with pytest.raises(InvalidParams, match="stream: expected"):
        await bench.call("chat.send", message="x", stream="yes")
    assert not (bench.vault / ".memory").exists()


async def test_a_listener_that_fails_does_not_keep_others_from_being_told(bench, caplog):
    def fail(name, payload, audience):
        raise ValueError("full")

    heard = []
    stop_failing = bench.host.on_event(fail)
    stop = bench.host.on_event(lambda name, payload, audience: heard.append(name))
    bench.host.emit("test.ping", {}, EVERYBODY)
    stop()
    stop()
    stop_failing()
    bench.host.emit("test.ping", {}, EVERYBODY)
    assert heard == ["test.ping"]
    assert bench.events == [("test.ping", {})] * 2
    assert "could not be sent" in caplog.text


async def test_faults_of_the_settings_are_told_and_the_previous_ones_stay(bench):
    bench.host.report_faults([Fault(message="expected a number", line=3, key="llm.timeout_s")])
    assert bench.named("system.config_read") == [
        {"faults": ["line 3: llm.timeout_s: expected a number"]}
    ]
    assert bench.states() == {"quiet": "running"}


async def test_other_models_are_used_from_the_next_turn(bench):
    bench.model = type(bench.model)(["From another model"])
    await bench.host.reload(bench.config(), bench.models())
    await bench.call("chat.send", message="Hi", chat_id="c1")
    assert (await bench.messages("c1"))[1].text == "From another model"


async def test_a_moved_memory_folder_takes_effect_at_the_next_start(bench, caplog):
    bench.configure('[vault]\nmemory_dir = "elsewhere"\n')
    await bench.host.reload(bench.config())
    assert "restart for it" in caplog.text


async def test_starting_writes_nothing_and_stopping_twice_is_no_harm(make_bench):
    bench = make_bench()
    await bench.start()
    async with asyncio.timeout(PATIENCE_S):
        await bench.host.stop()
        await bench.host.stop()
    assert list(bench.vault.iterdir()) == []


async def test_a_damaged_chat_does_not_keep_the_host_from_starting(make_bench, running, caplog):
    bench = make_bench()
    (bench.vault / ".memory").mkdir()
    (bench.vault / ".memory" / "c1.json").write_text('{"messages": [')
    (bench.vault / ".memory" / "c1.answer.jsonl").write_text('{"message_id": "a"}\n"x"\n')
    async with running(bench):
        await bench.call("memory.list_chats")
        with pytest.raises(UnknownCommand):
            await bench.call("smart_context.get_topics")


async def test_commands_without_a_chat_use_the_one_that_is_open(bench):
    await bench.call("chat.open", chat_id="c1")
    await bench.call("chat.send", message="Hi")
    assert len((await bench.call("memory.load_chat"))["messages"]) == 2
    bench.page.chat_id = None
    with pytest.raises(InvalidParams, match="chat_id: missing"):
        await bench.call("memory.load_chat")


async def test_renaming_what_is_not_there_is_refused(bench):
    with pytest.raises(CommandFailed):
        await bench.call("memory.rename_chat", chat_id="c9", title="x")
