"""The archive over real storage: what is read again, and what outlives a restart."""

import pytest

from smart_context.base.values import OWNER, PersonId
from smart_context.relevance.archive import archive
from smart_context.relevance.archive.archive import CACHE_FILE, ChatArchive
from smart_context.relevance.vectors.cache import EmbeddingCache
from smart_context.storage.files.storage import file_storage
from smart_context.storage.ports import NearMessage
from tests.scripted import ScriptedEmbedder

pytestmark = pytest.mark.anyio


class CountedChats:
    """Chats that remember which ones were read."""

    def __init__(self, chats):
        self._chats = chats
        self.read = []

    def __getattr__(self, name):
        return getattr(self._chats, name)

    async def snapshot(self, chat_id, *keys):
        self.read.append(chat_id)
        return await self._chats.snapshot(chat_id, *keys)


class Searched:
    def __init__(self, folder):
        self.storage = file_storage(folder)
        self.chats = CountedChats(self.storage.chats)
        self.embedder = ScriptedEmbedder(dimension=64)
        cache = EmbeddingCache(self.storage.vectors, self.embedder)
        self.archive = ChatArchive(self.chats, self.storage.vectors, self.storage.caches, cache)

    async def put(self, chat_id, *texts):
        messages = [{"id": f"m{n}", "role": "user", "content": t} for n, t in enumerate(texts)]
        await self.storage.chats.save(chat_id, {"messages": messages})

    async def find(self, text, person=OWNER):
        found = await self.archive.find(text, person, without="nobody")
        return [tuple(each) for each in found.messages]


@pytest.fixture
def memory(tmp_path):
    return tmp_path / ".memory"


async def test_only_changed_chats_are_read_again_even_after_a_restart(memory):
    one = Searched(memory)
    for name in ("a", "b", "c"):
        await one.put(name, f"The {name} pumpkin weighs much.")
    assert len(await one.find("pumpkin")) == 3
    one.chats.read.clear()
    await one.find("pumpkin")
    assert one.chats.read == []
    await one.put("b", "The second pumpkin is small.")
    assert ("b", "m0") in await one.find("second pumpkin")
    assert one.chats.read == ["b"]
    other = Searched(memory)
    assert len(await other.find("pumpkin")) == 3
    assert other.chats.read == []
    assert all("pumpkin weighs" not in text for asked in other.embedder.asked for text in asked)


async def test_messages_that_are_found_get_the_vectors_that_they_lack(memory):
    one = Searched(memory)
    await one.put("a", "The pumpkin weighs much.")
    await one.put("b", "Nothing to see here.")
    await one.find("pumpkin")
    assert one.storage.vectors.of("a", one.embedder.name).read()[0]
    assert not one.storage.vectors.of("b", one.embedder.name).read()[0]


async def test_a_deleted_chat_is_found_no_more_and_nothing_of_it_is_kept(memory):
    one = Searched(memory)
    await one.put("a", "The pumpkin weighs much.")
    await one.put("b", "Another pumpkin.")
    await one.find("pumpkin")
    await one.storage.chats.delete("a")
    await one.archive.forget("a")
    assert await one.find("pumpkin") == [("b", "m0")]
    with one.storage.caches.database(CACHE_FILE, timeout_s=1) as database:
        assert [row[0] for row in database.execute("SELECT chat FROM cards")] == ["b"]


async def test_a_stranger_finds_nothing(memory):
    one = Searched(memory)
    await one.put("a", "The pumpkin weighs much.")
    assert await one.find("pumpkin", PersonId("stranger")) == []


@pytest.mark.parametrize("damage", [b"", b"not a database, but long enough to be one" * 40])
async def test_a_damaged_cache_costs_time_and_no_answer(memory, damage):
    one = Searched(memory)
    await one.put("a", "The pumpkin weighs much.")
    await one.find("pumpkin")
    (memory / "index" / CACHE_FILE).write_bytes(damage)
    for _ in range(2):
        assert await Searched(memory).find("pumpkin") == [("a", "m0")]


async def test_an_unreadable_chat_does_not_hide_the_others(memory):
    one = Searched(memory)
    await one.put("a", "The pumpkin weighs much.")
    (memory / "bad.json").write_bytes(b"{")
    assert await one.find("pumpkin") == [("a", "m0")]


class NearList:
    """A list of chats whose storage knows the nearest messages."""

    def __init__(self, listing, chats):
        self._listing = listing
        self._chats = chats

    async def nearest(self, person, model, query, limit, without):
        found = await self._listing.revisions(person)
        return [NearMessage(chat, found[chat], "m0", 1.0) for chat in self._chats]


async def test_where_storage_knows_what_is_near_only_those_chats_are_read(memory):
    one = Searched(memory)
    for name in ("a", "b"):
        await one.put(name, f"The {name} pumpkin weighs much.")
    one.chats.listing = NearList(one.storage.chats.listing, ["b"])
    assert await one.find("pumpkin") == [("b", "m0")]
    assert set(one.chats.read) == {"b"}


async def test_cards_of_other_people_do_not_fill_the_memory(memory, monkeypatch):
    monkeypatch.setattr(archive, "MOST_REMEMBERED", 2)
    one = Searched(memory)
    for name in ("a", "b", "c"):
        await one.put(name, f"The {name} pumpkin weighs much.")
    assert len(await one.find("pumpkin")) == 3  # what is needed at once stays
    one.chats.listing = NearList(one.storage.chats.listing, ["c"])
    assert await one.find("pumpkin") == [("c", "m0")]
    assert len(one.archive._known) == 2
    one.chats.listing = NearList(one.storage.chats.listing, ["a", "b", "c"])
    one.chats.read.clear()
    assert len(await one.find("pumpkin")) == 3
    assert one.chats.read == [], "what was forgotten is on disk"
