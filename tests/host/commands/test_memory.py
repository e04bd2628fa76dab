"""Whole chats: saved, loaded, deleted by clients."""

import asyncio

import pytest

from smart_context.base.values import OWNER
from smart_context.host.commands.registry import Caller
from smart_context.storage.files.chats import FileChats
from tests.host.conftest import Page, until

pytestmark = pytest.mark.anyio


def said(*texts, role="user"):
    return [{"id": text, "role": role, "content": text} for text in texts]


async def save(bench, page, *messages):
    params = {"chat_id": "c1", "data": {"messages": list(messages)}}
    return await bench.host.commands.call("memory.save_chat", params, Caller(OWNER, page))


@pytest.fixture
async def stored(bench):
    """A chat of which no client has seen anything."""
    store = FileChats(bench.vault / ".memory")
    await store.save("c1", {"messages": said("a", "b", "c")})
    await store.close()


async def test_saving_names_the_messages_that_stay_as_the_client_never_saw_them(bench, stored):
    result = await save(bench, Page("one"), *said("b"))
    assert result == {"chat_id": "c1", "total_messages": 3, "kept": ["a", "c"]}


async def test_saving_names_what_arrived_since_the_client_loaded(bench):
    one, two = Page("one"), Page("two")
    await save(bench, one, *said("a"))
    await bench.host.commands.call("memory.load_chat", {"chat_id": "c1"}, Caller(OWNER, two))
    await save(bench, one, *said("a", "late"))
    assert (await save(bench, two, *said("a", "mine")))["kept"] == ["late"]


async def test_what_a_client_has_seen_and_leaves_out_is_deleted_and_nothing_is_kept(bench):
    page = Page("one")
    await save(bench, page, *said("a", "b"))
    assert await save(bench, page, *said("b")) == {"chat_id": "c1", "total_messages": 1}


async def test_messages_without_ids_are_not_taken_for_kept_ones(bench, stored):
    result = await save(bench, Page("one"), {"role": "user", "content": "new"})
    assert result["kept"] == ["a", "b", "c"]


@pytest.mark.parametrize("odd_id", [[1], {"a": 1}, 7, None])
async def test_a_message_whose_id_is_no_text_is_saved_as_one_without(bench, stored, odd_id):
    result = await save(bench, Page("one"), {"id": odd_id, "role": "user", "content": "new"})
    assert (result["total_messages"], result["kept"]) == (4, ["a", "b", "c"])


async def test_a_document_without_messages_says_nothing_of_them(bench, stored):
    params = {"chat_id": "c1", "data": {"title": "New"}}
    result = await bench.host.commands.call("memory.save_chat", params, Caller(OWNER, Page("one")))
    assert result == {"chat_id": "c1", "total_messages": 3}


async def test_a_chat_is_deleted_when_plugins_know(bench):
    heard = []

    async def note(payload):
        await asyncio.sleep(0)
        heard.append(payload)

    await save(bench, Page("one"), *said("a"))
    await until(lambda: bench.named("memory.chat_changed"))
    bench.host.bus.subscribe("memory.chat_changed", note)
    await bench.call("memory.delete_chat", chat_id="c1")
    assert heard == [{"chat_id": "c1"}]


async def test_a_plugin_that_hangs_holds_no_deletion_up(bench, monkeypatch):
    async def hang(_payload):
        await asyncio.Event().wait()

    monkeypatch.setattr("smart_context.host.events.bus.SETTLE_TIMEOUT_S", 0.01)
    await save(bench, Page("one"), *said("a"))
    bench.host.bus.subscribe("memory.chat_changed", hang)
    assert await bench.call("memory.delete_chat", chat_id="c1") == {"chat_id": "c1"}
