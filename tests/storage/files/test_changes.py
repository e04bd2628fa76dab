import asyncio
import contextlib
import threading

import pytest

from smart_context.base.disk.places import Place
from smart_context.storage.files.changes import changed_chats
from smart_context.storage.files.chats import FileChats
from tests.chat.made_documents import appending, put, said
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


class Heard:
    """What a store reports; `until` waits for a chat to be reported so many times."""

    def __init__(self, store):
        self.chats = []
        self._news = asyncio.Event()
        store.changes.on_change(self._hear)

    def _hear(self, chat):
        self.chats.append(chat)
        self._news.set()

    async def until(self, chat, times=1):
        async with asyncio.timeout(PATIENCE_S):
            while self.chats.count(chat) < times:
                self._news.clear()
                await self._news.wait()


@contextlib.asynccontextmanager
async def watching(store, look_again_s=0.2):
    begun, begin, loop = asyncio.Event(), store.changes._begin, asyncio.get_running_loop()

    def begin_and_say():
        begin()
        loop.call_soon_threadsafe(begun.set)

    store.changes._begin = begin_and_say
    task = asyncio.create_task(store.changes.watch(look_again_s=look_again_s))
    await begun.wait()
    try:
        yield
    finally:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "chats"


@pytest.fixture
async def store(folder):
    store = FileChats(folder)
    await store.save("c", said("a"))
    return store


async def test_what_another_program_changes_is_reported(store, folder):
    heard = Heard(store)
    async with watching(store):
        put(folder / "c.json", said("theirs"))
        await heard.until("c")
        assert await store.load("c") == said("theirs")
        put(folder / "new.json", said("theirs"))
        await heard.until("new")
        (folder / "c.json").unlink()
        await heard.until("c", 2)
    assert heard.chats == ["c", "new", "c"]


async def test_our_own_changes_are_reported_once_and_not_again_by_the_watch(store, folder):
    heard = Heard(store)
    async with watching(store):
        for number in range(5):
            await store.update("c", appending(str(number)))
        await store.delete("c")
        await store.restore("c")
        put(folder / "last.json", said("theirs"))
        await heard.until("last")
    assert heard.chats == ["c"] * 7 + ["last"]


async def test_what_we_loaded_before_the_report_came_is_reported_all_the_same(store, folder):
    heard = Heard(store)
    put(folder / "c.json", said("theirs"))
    assert await store.load("c") == said("theirs")
    async with watching(store):
        await heard.until("c")


async def test_sidecars_and_temporary_files_are_not_reported(store, folder):
    heard = Heard(store)
    async with watching(store):
        for name in ("c.embeddings.json", ".c.json.0.tmp", "c.answer.jsonl", "x.md"):
            put(folder / name, b"{}")
        put(folder / "last.json", said("theirs"))
        await heard.until("last")
    assert heard.chats == ["last"]


async def test_chats_that_were_there_before_are_no_news(folder):
    put(folder / "old.json", said("a"))
    store = FileChats(folder)
    heard = Heard(store)
    async with watching(store):
        await store.save("mine", said("a"))
        put(folder / "last.json", said("theirs"))
        await heard.until("last")
    assert heard.chats == ["mine", "last"]


async def test_a_folder_that_does_not_exist_yet_is_waited_for_and_not_made(folder):
    store = FileChats(folder)
    heard = Heard(store)
    async with watching(store, look_again_s=0.05):
        assert await store.load("c") == {"messages": []}
        assert not folder.exists()
        put(folder / "theirs.json", said("a"))
        await heard.until("theirs")
    assert heard.chats == ["theirs"]


async def test_a_folder_that_our_first_save_makes_is_watched(folder):
    store = FileChats(folder)
    heard = Heard(store)
    async with watching(store, look_again_s=1):
        await store.save("c", said("a"))
        put(folder / "theirs.json", said("a"))  # reported, or found by the next look if between
        await heard.until("theirs")


async def test_a_folder_that_goes_away_and_comes_back_is_watched_again(store, folder):
    heard = Heard(store)
    async with watching(store, look_again_s=0.1):
        folder.rename(folder.with_name("moved"))
        await heard.until("c")
        put(folder / "back.json", said("a"))
        await heard.until("back")
        put(folder / "c.json", said("a"))
        await heard.until("c", 2)


async def test_a_file_that_is_moved_away_and_back_is_reported_twice_and_no_more(store, folder):
    heard = Heard(store)
    async with watching(store, look_again_s=0.02):
        (folder / "c.json").rename(folder.parent / "away")
        await heard.until("c")
        for number in range(5):  # each with a look at the whole folder before it
            put(folder / f"x{number}.json", said("a"))
            await heard.until(f"x{number}")
        (folder.parent / "away").rename(folder / "c.json")
        await heard.until("c", 2)
    assert heard.chats.count("c") == 2


async def test_another_folder_by_the_same_name_is_watched_itself(folder):
    folder.mkdir()
    was_replaced = False
    async with (
        asyncio.timeout(PATIENCE_S),
        contextlib.aclosing(changed_chats(Place(folder), look_again_s=0.05)) as reports,
    ):
        async for chats in reports:  # `None` comes from looking, a chat only from the system
            if was_replaced and chats:
                break
            if chats:
                folder.rename(folder.with_name("former"))
                folder.mkdir()
                was_replaced = True
            put(folder / "x.json", said("a"))


async def test_a_report_that_comes_before_our_writer_has_told_waits_for_it(store):
    heard = Heard(store)
    written, may_go_on = asyncio.Event(), threading.Event()
    put_file, loop = store._store._files.put, asyncio.get_running_loop()

    def put_and_wait(*arguments):
        stored = put_file(*arguments)
        loop.call_soon_threadsafe(written.set)
        may_go_on.wait(PATIENCE_S)
        return stored

    store._store._files.put = put_and_wait
    saving = asyncio.create_task(store.update("c", appending("b")))
    await written.wait()
    report = asyncio.create_task(store.changes._report(frozenset({"c"})))
    await asyncio.wait({report}, timeout=0.05)
    assert not heard.chats
    may_go_on.set()
    await asyncio.gather(saving, report)
    assert heard.chats == ["c"]


async def test_a_side_car_that_changes_is_reported_and_a_journal_is_not(store, folder):
    heard, found = Heard(store), []
    end = store.changes.on_sidecar_change(found.append)
    async with watching(store), asyncio.timeout(PATIENCE_S):
        while not found:  # the system may not be watching yet
            put(folder / "d.answer.jsonl", "{}")
            put(folder / "c.filter.json", "{}")
            await asyncio.sleep(0.05)
        end()
        end()
    assert set(found) == {"c"}
    assert heard.chats == []
