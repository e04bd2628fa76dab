import os
from datetime import UTC, datetime

import pytest

from smart_context.base.disk.places import Place
from smart_context.base.errors import CommandFailed, StoreFailed
from smart_context.base.values import OWNER
from smart_context.storage.files.chats import FileChats
from smart_context.storage.files.trash import move_back
from tests.chat.made_documents import appending, ids, names_in, put, said

pytestmark = pytest.mark.anyio


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "chats"


@pytest.fixture
def store(folder):
    return FileChats(folder, clock=lambda: datetime(2026, 3, 1, 12, tzinfo=UTC))


async def test_a_deleted_chat_goes_to_the_trash_with_all_that_belongs_to_it(store, folder):
    await store.save("c", said("a"))
    await store.save("c2", said("b"))
    put(folder / "c.embeddings.json", b"vectors")
    put(folder / "c.smart_context.json", b"filter")
    await store.delete("c")
    place = "trash/c.20260301T120000Z-0001"
    assert names_in(folder) == [
        "c2.json",
        f"{place}/c.embeddings.json",
        f"{place}/c.json",
        f"{place}/c.smart_context.json",
    ]
    assert await store.load("c") == {"messages": []}
    assert not await store.exists("c")
    assert [chat.id for chat in await store.listing.rows(OWNER)] == ["c2"]


async def test_a_restored_chat_is_as_it_was(store, folder):
    await store.save("c", said("a"))
    put(folder / "c.embeddings.json", b"vectors")
    before = names_in(folder)
    await store.delete("c")
    await store.restore("c")
    assert names_in(folder) == before
    assert await store.load("c") == said("a")
    assert (folder / "c.embeddings.json").read_bytes() == b"vectors"
    assert [chat.id for chat in await store.listing.rows(OWNER)] == ["c"]


async def test_deleting_an_id_twice_loses_neither_chat(store, folder):
    for text in ("first", "second"):
        await store.save("c", said(text))
        await store.delete("c")
    await store.restore("c")
    assert ids(await store.load("c")) == ["second"]
    await store.delete("c")
    (folder / "trash/c.20260301T120000Z-0002/c.json").unlink()
    await store.restore("c")
    assert ids(await store.load("c")) == ["first"]


async def test_a_chat_that_exists_again_is_not_replaced(store):
    await store.save("c", said("old"))
    await store.delete("c")
    await store.save("c", said("new"))
    with pytest.raises(CommandFailed, match="exists again"):
        await store.restore("c")
    assert ids(await store.load("c")) == ["new"]


async def test_what_does_not_exist_can_be_neither_deleted_nor_restored(store, folder):
    with pytest.raises(CommandFailed, match="no chat"):
        await store.delete("c")
    with pytest.raises(CommandFailed, match="trash"):
        await store.restore("c")
    assert not folder.exists()
    await store.save("c2", said("a"))
    await store.delete("c2")
    with pytest.raises(CommandFailed):
        await store.restore("c")


async def test_a_damaged_chat_can_be_deleted(store, folder):
    put(folder / "c.json", b"{")
    await store.delete("c")
    assert await store.listing.rows(OWNER) == []


async def test_restoring_goes_on_where_it_was_interrupted(store, folder):
    await store.save("c", said("a"))
    put(folder / "c.embeddings.json", b"vectors")
    await store.delete("c")
    place = folder / "trash/c.20260301T120000Z-0001"
    (place / "c.embeddings.json").rename(folder / "c.embeddings.json")
    move_back(Place(folder), "c")
    assert names_in(folder) == ["c.embeddings.json", "c.json"]


async def test_the_document_comes_back_last_so_a_half_restored_chat_is_whole_in_the_trash(
    store, folder
):
    await store.save("c", said("a"))
    put(folder / "c.x", b"")
    await store.delete("c")
    blocked = put(folder / "c.x" / "taken", b"")
    with pytest.raises(StoreFailed, match="Nothing was lost"):
        await store.restore("c")
    assert not await store.exists("c")
    blocked.unlink()
    blocked.parent.rmdir()
    await store.restore("c")
    assert ids(await store.load("c")) == ["a"]


async def test_the_document_moves_first_so_a_half_deleted_chat_is_whole_in_the_trash(store, folder):
    await store.save("c", said("a"))
    blocked = folder / "c.a"
    put(blocked, b"")
    put(folder / "trash/c.20260301T120000Z-0001" / "taken", b"")
    target = folder / "trash/c.20260301T120000Z-0002/c.a/x"
    original = os.mkdir

    def mkdir(path, *args, **kwargs):  # the side-car's place in the trash is taken
        original(path, *args, **kwargs)
        if os.fspath(path).endswith("-0002"):
            put(target, b"")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "mkdir", mkdir)
        with pytest.raises(StoreFailed, match="Nothing was lost"):
            await store.delete("c")
    assert (folder / "trash/c.20260301T120000Z-0002/c.json").exists()
    target.unlink()
    target.parent.rmdir()
    await store.restore("c")
    assert ids(await store.load("c")) == ["a"]


async def test_what_somebody_put_into_the_trash_stays_there(store, folder):
    await store.save("c", said("a"))
    await store.delete("c")
    note = put(folder / "trash/c.20260301T120000Z-0001/note.txt", b"mine")
    await store.restore("c")
    assert note.read_bytes() == b"mine"


async def test_an_update_after_deleting_starts_again(store):
    await store.save("c", said("a"))
    await store.load("c")
    await store.delete("c")
    assert ids(await store.update("c", appending("b"))) == ["b"]


async def test_a_deletion_that_is_being_removed_is_nobodys(folder):
    store = FileChats(folder, has_people=True)
    await store.save("c", said("a"))
    await store.update("c", lambda document: document.update(owned_by={"person": "alice"}))
    await store.delete("c")
    assert await store.trash.person_of("c") == "alice"
    (document,) = (folder / "trash").glob("*/c.json")
    document.unlink()
    assert await store.trash.person_of("c") is None
    assert await store.trash.ids(OWNER) == frozenset()


async def test_a_deletion_that_can_not_be_read_is_not_the_owners(folder, monkeypatch):
    store = FileChats(folder, has_people=True)
    await store.save("c", said("a"))
    await store.update("c", lambda document: document.update(owned_by={"person": "alice"}))
    await store.delete("c")
    monkeypatch.setattr("smart_context.storage.files.trash.read_in", refused)
    with pytest.raises(StoreFailed, match="could not be read"):
        await store.trash.person_of("c")
    assert await store.trash.ids(OWNER) == frozenset()


def refused(*_given, **_named):
    raise PermissionError("no permission")
