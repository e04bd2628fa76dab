import asyncio
import os
import time
from datetime import UTC, datetime

import pytest

from smart_context.base.errors import ChatUnreadable, StoreFailed
from smart_context.base.values import OWNER
from smart_context.storage.files import chat_files
from smart_context.storage.files.chats import FileChats
from tests.chat.made_documents import appending, ids, names_in, on_disk, put, said
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio

DAMAGE = [
    pytest.param(b"", id="empty"),
    pytest.param(b"\0\0\0\0", id="zeros"),
    pytest.param(b'{"messages": [{"id', id="cut short"),
    pytest.param(b'{"messages": "\xff"}', id="not UTF-8"),
    pytest.param(b"[]", id="not an object"),
    pytest.param(b'{"messages": 7}', id="messages is no list"),
    pytest.param(b"[" * 100_000, id="absurdly nested"),
]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "chats"


@pytest.fixture
def store(folder):
    return FileChats(folder, clock=lambda: datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC))


CALLS = [
    pytest.param(lambda store: store.load("c"), id="load"),
    pytest.param(lambda store: store.messages("c"), id="messages"),
    pytest.param(lambda store: store.save("c", said("new")), id="save"),
    pytest.param(lambda store: store.update("c", appending("new")), id="update"),
    pytest.param(lambda store: store.rename("c", "new"), id="rename"),
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("content", DAMAGE)
async def test_a_damaged_file_is_set_aside_unchanged_and_reported(store, folder, content, call):
    put(folder / "c.json", content)
    with pytest.raises(ChatUnreadable) as reported:
        await call(store)
    aside = folder / "c.damaged-20260301T120000Z.json"
    assert str(aside) in str(reported.value)
    assert aside.read_bytes() == content
    assert names_in(folder) == [aside.name]
    assert await store.load("c") == {"messages": []}
    assert await store.listing.rows(OWNER) == []


async def test_the_chat_can_go_on_after_its_file_was_set_aside(store, folder):
    put(folder / "c.json", b"{")
    with pytest.raises(ChatUnreadable):
        await store.load("c")
    assert ids(await store.update("c", appending("a"))) == ["a"]


async def test_what_a_client_still_has_is_saved_whole_after_the_file_was_damaged(store, folder):
    await store.save("c", said("a"))
    document = await store.load("c")
    put(folder / "c.json", b"{")
    with pytest.raises(ChatUnreadable):
        await store.save("c", document)
    assert await store.save("c", document) == said("a")


async def test_a_second_damage_in_one_second_does_not_replace_the_first(store, folder):
    for content in (b"{1", b"{2", b"{3"):
        put(folder / "c.json", content)
        with pytest.raises(ChatUnreadable):
            await store.load("c")
    assert sorted(path.read_bytes() for path in folder.iterdir()) == [b"{1", b"{2", b"{3"]


async def test_setting_aside_is_a_change(store, folder):
    heard = []
    store.changes.on_change(heard.append)
    put(folder / "c.json", b"{")
    with pytest.raises(ChatUnreadable):
        await store.load("c")
    assert heard == ["c"]


async def test_listing_and_searching_move_nothing_and_show_that_something_is_there(store, folder):
    put(folder / "bad.json", b"{", age_s=100)
    put(folder / "good.json", said("hello"))
    assert [(chat.id, chat.title) for chat in await store.listing.rows(OWNER)] == [
        ("good", "hello"),
        ("bad", "bad"),
    ]
    assert [hit.chat_id for hit in await store.listing.search(OWNER, "hello")] == ["good"]
    assert names_in(folder) == ["bad.json", "good.json"]


async def test_a_file_that_is_being_written_is_waited_for(store, folder, monkeypatch):
    monkeypatch.setattr(chat_files, "_FRESH_S", PATIENCE_S)  # however slow this machine is
    path = put(folder / "c.json", b'{"messages": [', age_s=0)
    loading = asyncio.create_task(store.load("c"))
    await asyncio.wait({loading}, timeout=0.1)
    path.write_text('{"messages": [{"id": "a", "role": "user", "content": "a"}]}')
    async with asyncio.timeout(PATIENCE_S):
        assert await loading == said("a")
    assert names_in(folder) == ["c.json"]


async def test_a_file_that_changes_while_it_is_set_aside_is_looked_at_again(store, folder):
    path = put(folder / "c.json", b"{")
    set_aside = store._store._files.set_aside

    def late(chat, damaged):
        put(path, said("whole"), age_s=30)
        return set_aside(chat, damaged)

    store._store._files.set_aside = late
    assert await store.load("c") == said("whole")


async def test_damage_during_an_update_is_not_overwritten(store, folder):
    await store.save("c", said("a"))

    def change(document):
        put(folder / "c.json", b"{broken")
        appending("b")(document)

    with pytest.raises(ChatUnreadable):
        await store.update("c", change)
    assert [path.read_bytes() for path in folder.iterdir()] == [b"{broken"]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", ["a folder", "a link", "a FIFO"])
async def test_what_is_no_plain_file_is_refused_and_stays(store, folder, kind, call):
    folder.mkdir()
    path = folder / "c.json"
    elsewhere = put(folder.parent / "elsewhere.json", said("secret"))
    {
        "a folder": path.mkdir,
        "a link": lambda: path.symlink_to(elsewhere),
        "a FIFO": lambda: os.mkfifo(path),
    }[kind]()
    with pytest.raises(StoreFailed):
        await call(store)
    assert os.path.lexists(path)
    assert on_disk(elsewhere) == said("secret")
    assert await store.listing.rows(OWNER) == []
    assert await store.listing.search(OWNER, "secret") == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
async def test_missing_permission_is_no_damage(store, folder):
    path = put(folder / "c.json", said("a"))
    path.chmod(0)
    with pytest.raises(StoreFailed):
        await store.load("c")
    path.chmod(0o600)
    assert await store.load("c") == said("a")


async def test_a_file_from_the_future_is_not_waited_for(store, folder):
    path = put(folder / "c.json", b"{")
    later = time.time() + 1000
    os.utime(path, (later, later))
    with pytest.raises(ChatUnreadable):
        await store.load("c")
