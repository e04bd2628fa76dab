import asyncio
import json
import os

import pytest
from hypothesis import HealthCheck, given, settings

from smart_context.base.errors import ChatIdInvalid, CommandFailed, InvalidParams, StoreFailed
from smart_context.base.values import OWNER
from smart_context.chat.documents.document import since_message
from smart_context.chat.messages import Message
from smart_context.storage.files.chats import FileChats
from tests.chat.made_documents import (
    appending,
    full_disk,
    ids,
    json_documents,
    message,
    names_in,
    on_disk,
    put,
    said,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "vault with spaces é" / ".memory"


@pytest.fixture
def store(folder):
    return FileChats(folder)


async def test_a_chat_that_does_not_exist_has_no_messages_and_nothing_is_written(store, folder):
    assert await store.load("a") == {"messages": []}
    assert await store.messages("a") == ()
    assert await store.listing.rows(OWNER) == []
    assert await store.listing.search(OWNER, "x") == []
    assert not await store.exists("a")
    await store.close()
    assert not folder.exists()


async def test_what_is_saved_is_loaded_by_this_store_and_another(store, folder):
    document = {**said("a", "你好"), "topics": [{"label": "x", "count": 1}], "unknown": {"k": [1]}}
    document["messages"][0]["x-color"] = "red"
    assert await store.save("c", document) == document
    assert await store.load("c") == document
    assert await FileChats(folder).load("c") == document
    assert on_disk(folder / "c.json") == document
    assert names_in(folder) == ["c.json"]


@given(document=json_documents)
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_any_document_comes_back_as_it_was_saved(tmp_path_factory, document):
    folder = tmp_path_factory.mktemp("chats")

    async def there_and_back():
        await FileChats(folder).save("c", document)
        return await FileChats(folder).load("c")

    assert asyncio.run(there_and_back()) == document


async def test_the_folder_is_made_by_the_first_save(store, folder):
    await store.save("c", {"messages": []})
    assert on_disk(folder / "c.json") == {"messages": []}


@pytest.mark.parametrize("bad", ["../x", "", "a.b", "con"])
async def test_every_method_refuses_a_bad_id(store, bad):
    for call in (
        store.load(bad),
        store.messages(bad),
        store.exists(bad),
        store.save(bad, said("a")),
        store.update(bad, appending("a")),
        store.rename(bad, "x"),
        store.delete(bad),
        store.restore(bad),
    ):
        with pytest.raises(ChatIdInvalid):
            await call


@pytest.mark.parametrize(
    "document",
    [[], None, {"messages": {}}, {"messages": [], "x": float("nan")}, {"messages": [b""]}],
)
async def test_a_document_that_is_not_one_is_refused_and_nothing_is_written(
    store, folder, document
):
    with pytest.raises(InvalidParams):
        await store.save("c", document)
    assert not folder.exists()


async def test_changing_what_was_loaded_changes_nothing_else(store):
    document = {"messages": [message("a", content=[{"type": "text", "text": "a"}])]}
    await store.save("c", document)
    loaded = await store.load("c")
    loaded["messages"][0]["content"][0]["text"] = "changed"
    loaded["messages"].clear()
    assert await store.load("c") == document


async def test_changing_what_was_saved_or_returned_changes_nothing_else(store):
    given = said("a")
    returned = await store.save("c", given)
    given["messages"][0]["content"] = "changed"
    returned["messages"].clear()
    assert await store.load("c") == said("a")
    updated = await store.update("c", appending("b"))
    updated["messages"].clear()
    assert await store.load("c") == said("a", "b")


async def test_an_update_sees_the_newest_document_and_leaves_the_rest_alone(store, folder):
    put(folder / "c.json", {**said("a"), "unknown": 1})
    await store.load("c")
    put(folder / "c.json", {**said("a", "b"), "unknown": 2}, age_s=30)
    stored = await store.update("c", lambda document: document.update(topics=[]))
    assert stored == {**said("a", "b"), "unknown": 2, "topics": []}
    assert on_disk(folder / "c.json") == stored


async def test_updates_of_one_chat_follow_each_other(store):
    await asyncio.gather(*(store.update("c", appending(str(n))) for n in range(50)))
    assert ids(await store.load("c")) == [str(n) for n in range(50)]


async def test_an_update_that_fails_stores_nothing(store, folder):
    await store.save("c", said("a"))

    def fail(document):
        document["messages"].clear()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await store.update("c", fail)
    assert await store.load("c") == said("a")
    await store.update("c", appending("b"))
    assert ids(on_disk(folder / "c.json")) == ["a", "b"]


async def test_an_update_that_changes_nothing_writes_nothing(store, folder):
    changed = []
    store.changes.on_change(changed.append)
    await store.update("new", lambda _: None)
    assert not folder.exists()
    await store.save("c", said("a"))
    before = (folder / "c.json").stat()
    await store.update("c", lambda _: None)
    await store.save("c", said("a"))
    assert (folder / "c.json").stat().st_ino == before.st_ino
    assert changed == ["c"]


async def test_what_another_program_writes_during_an_update_is_kept(store, folder):
    path = folder / "c.json"
    await store.save("c", said("a"))

    def change(document):
        put(path, said("a", "theirs"))
        appending("ours")(document)

    assert ids(await store.update("c", change)) == ["a", "theirs", "ours"]
    assert ids(on_disk(path)) == ["a", "theirs", "ours"]
    assert ids(await store.load("c")) == ["a", "theirs", "ours"]


async def test_a_chat_that_appears_during_an_update_is_kept(store, folder):
    def change(document):
        put(folder / "c.json", said("theirs"))
        appending("ours")(document)

    assert ids(await store.update("c", change)) == ["theirs", "ours"]


async def test_a_chat_that_vanishes_during_an_update_is_written_whole(store, folder):
    await store.save("c", said("a"))

    def change(document):
        (folder / "c.json").unlink()
        appending("b")(document)

    assert ids(await store.update("c", change)) == ["a", "b"]


async def test_topics_for_an_old_copy_lose_no_message_that_arrived_meanwhile(store):
    await store.save("c", said("a"))
    stale = await store.load("c")
    await store.update("c", appending("b"))
    await store.load("c")
    stale["topics"] = [{"label": "x", "count": 1}]
    stored = await store.save("c", stale)
    assert stored == {**said("a", "b"), "topics": [{"label": "x", "count": 1}]}


@pytest.mark.parametrize("reader", ["", "tab"])
async def test_saving_an_old_copy_twice_loses_nothing_either(store, reader):
    await store.save("c", said("a"))
    stale = await store.load("c", reader=reader)
    await store.update("c", appending("b"))
    stale["topics"] = []
    await store.save("c", stale, reader=reader)
    assert ids(await store.save("c", stale, reader=reader)) == ["a", "b"]


async def test_two_old_copies_with_a_message_each_are_both_kept(store):
    await store.save("c", said("a"))
    one, two = await store.load("c"), await store.load("c")
    appending("b")(one)
    appending("d")(two)
    await store.save("c", one)
    await store.load("c")
    await store.save("c", two)
    assert ids(await store.load("c")) == ["a", "b", "d"]


@pytest.mark.parametrize("place", [0, 1, 2])
async def test_a_message_that_a_client_takes_out_is_gone(store, place):
    await store.save("c", said("a", "b", "d"))
    document = await store.load("c")
    del document["messages"][place]
    await store.save("c", document)
    assert await store.load("c") == document


async def test_a_message_that_a_client_added_and_takes_out_again_is_gone(store):
    document = await store.save("c", said("a"))
    appending("b")(document)
    await store.save("c", document)
    document = await store.load("c")
    document["messages"].pop()
    await store.save("c", document)
    assert ids(await store.load("c")) == ["a"]


async def test_a_client_that_is_known_takes_out_what_arrived_once_it_has_seen_it(store):
    await store.update("c", appending("a"))
    await store.load("c", reader="tab")
    await store.update("c", appending("b"))
    document = await store.load("c", reader="tab")
    document["messages"].pop()
    await store.update("c", appending("later"))
    await store.save("c", document, reader="tab")
    assert ids(await store.load("c")) == ["a", "later"]


async def test_a_file_that_changed_since_it_was_loaded_is_merged(store, folder):
    put(folder / "c.json", {**said("a", "b"), "title": "old"})
    document = await store.load("c")
    edited = {**said("a", "b", "theirs"), "title": "theirs"}
    edited["messages"][0]["content"] = "edited"
    put(folder / "c.json", edited, age_s=30)
    appending("ours")(document)
    del document["messages"][1]
    stored = await store.save("c", document)
    assert ids(stored) == ["a", "theirs", "ours"]
    assert stored["messages"][0]["content"] == "edited"
    assert stored["title"] == "theirs"


async def test_a_file_that_was_never_loaded_is_merged_too(store, folder):
    put(folder / "c.json", {**said("a"), "kept": 1})
    stored = await store.save("c", {**said("b"), "topics": []})
    assert stored == {**said("a", "b"), "kept": 1, "topics": []}


async def test_a_copy_from_before_a_restart_deletes_nothing(store, folder):
    await store.save("c", said("a", "b"))
    assert ids(await FileChats(folder).save("c", said("a", "x"))) == ["a", "b", "x"]


async def test_saving_without_messages_leaves_the_messages(store):
    await store.save("c", said("a"))
    await store.load("c")
    assert await store.save("c", {"topics": []}) == {**said("a"), "topics": []}


async def test_messages_are_given_as_values_and_only_new_ones_are_made(store):
    await store.save("c", said("a", "b"))
    before = await store.messages("c")
    await store.update("c", appending("d"))
    after = await store.messages("c")
    assert after == tuple(
        Message.from_dict(entry, position=n) for n, entry in enumerate(said(*"abd")["messages"])
    )
    assert after[0] is before[0]


async def test_an_unchanged_file_is_not_read_again(store, folder):
    path = put(folder / "c.json", said("a"))
    await store.load("c")
    signature = path.stat()
    with path.open("r+b") as file:  # in place and dated back: only a reader would notice
        file.write(b"x")
    os.utime(path, ns=(signature.st_mtime_ns, signature.st_mtime_ns))
    assert await store.load("c") == said("a")


async def test_a_file_that_another_program_changed_is_read_again(store, folder):
    await store.save("c", said("a"))
    put(folder / "c.json", said("b"))
    assert await store.load("c") == said("b")
    (folder / "c.json").unlink()
    assert await store.load("c") == {"messages": []}


async def test_renaming_changes_the_title_and_nothing_else(store):
    await store.save("c", {**said("a"), "unknown": 1})
    assert await store.rename("c", "  A new\n title ") == "A new title"
    assert await store.load("c") == {**said("a"), "unknown": 1, "title": "A new title"}


@pytest.mark.parametrize("title", ["", "  ", "x" * 201])
async def test_a_title_has_1_to_200_characters(store, title):
    await store.save("c", said("a"))
    with pytest.raises(InvalidParams):
        await store.rename("c", title)
    await store.rename("c", "x" * 200)


async def test_a_chat_that_does_not_exist_is_not_made_by_renaming_it(store, folder):
    with pytest.raises(CommandFailed):
        await store.rename("c", "x")
    assert not folder.exists()


async def test_a_chat_that_is_deleted_while_it_is_renamed_stays_deleted(store, folder):
    await store.save("c", said("a"))
    deleting = asyncio.create_task(store.delete("c"))
    renaming = asyncio.create_task(store.rename("c", "x"))
    await deleting
    with pytest.raises(CommandFailed):
        await renaming
    assert not (folder / "c.json").exists()


async def test_on_a_full_disk_the_old_chat_is_intact_and_the_next_save_works(store, folder):
    await store.save("c", said("a"))
    with full_disk():
        with pytest.raises(StoreFailed):
            await store.save("c", said("a", "b" * 5000))
        with pytest.raises(StoreFailed):
            await store.update("c", appending("b" * 5000))
    assert await store.load("c") == said("a")
    assert names_in(folder) == ["c.json"]
    assert ids(await store.update("c", appending("b"))) == ["a", "b"]


async def test_a_read_only_chat_is_refused_in_words_and_stays_readable(store, folder):
    await store.save("c", said("a"))
    (folder / "c.json").chmod(0o444)
    with pytest.raises(StoreFailed, match="read-only"):
        await store.update("c", appending("b"))
    assert await store.load("c") == said("a")


async def test_listeners_hear_of_every_stored_change_until_they_unsubscribe(store):
    heard, also = [], []
    unsubscribe = store.changes.on_change(heard.append)
    store.changes.on_change(also.append)
    await store.save("a", said("1"))
    await store.update("b", appending("1"))
    await store.rename("a", "x")
    await store.delete("a")
    await store.restore("a")
    assert heard == ["a", "b", "a", "a", "a"]
    unsubscribe()
    unsubscribe()
    await store.save("a", said("2"))
    assert len(heard) == 5
    assert len(also) == 6


async def test_a_listener_that_fails_stops_neither_the_save_nor_the_others(store, caplog):
    heard = []
    store.changes.on_change(lambda _: 1 / 0)
    store.changes.on_change(heard.append)
    await store.save("c", said("a"))
    assert heard == ["c"]
    assert "listener failed" in caplog.text


async def test_a_listener_sees_what_was_stored(store, folder):
    seen = []
    store.changes.on_change(lambda chat: seen.append(on_disk(folder / f"{chat}.json")))
    await store.save("c", said("a"))
    assert seen == [said("a")]


async def test_locks_do_not_pile_up_with_the_number_of_chats(store):
    for number in range(50):
        await store.save(f"c{number}", said("a"))
    assert len(store._locks) == 0


async def test_a_save_that_is_cancelled_is_over_before_the_next_begins(store, folder):
    await store.save("c", said("a"))
    saving = asyncio.create_task(store.update("c", appending("b" * 1_000_000)))
    await asyncio.sleep(0)
    saving.cancel()
    await asyncio.gather(saving, return_exceptions=True)
    stored = await store.update("c", appending("d"))
    assert stored == await store.load("c") == json.loads((folder / "c.json").read_text())
    assert ids(stored)[-1] == "d"


async def test_a_change_of_the_end_gets_the_end_alone_and_keeps_the_rest(folder):
    store = FileChats(folder)
    await store.save("c", {"title": "t", "messages": [message(str(n)) for n in range(50)]})
    before = await store.messages("c")
    seen = []

    def change(document):
        seen.append(ids(document))
        document["messages"][0]["content"] = "other"
        document["messages"].append(message("new"))

    await store.update("c", change, since=since_message("48"))
    assert seen == [["48", "49"]]
    after = await store.messages("c")
    assert all(old is new for old, new in zip(before[:48], after[:48], strict=True))
    assert [m.text for m in after] == [*map(str, range(48)), "other", "49", "new"]
    assert await FileChats(folder).load("c") == await store.load("c")


async def test_a_change_of_the_end_is_merged_with_another_programs(folder):
    store, other = FileChats(folder), FileChats(folder)
    await store.save("c", said("a", "b", "c"))
    await other.load("c")

    def change(document):
        document["messages"].append(message("ours"))
        put(folder / "c.json", said("a", "b", "c", "theirs"), age_s=0)

    await store.update("c", change, since=since_message("c"))
    assert set(ids(await other.load("c"))) == {"a", "b", "c", "theirs", "ours"}
