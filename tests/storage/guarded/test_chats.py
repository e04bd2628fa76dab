"""The chats of several people, each behind the guard."""

import pytest

from smart_context.base.values import PersonId
from smart_context.storage.guarded.storage import guarded
from tests.storage.memory import memory_storage

pytestmark = pytest.mark.anyio

ANN, BOB = PersonId("ann"), PersonId("bob")
MESSAGE = {"id": "a", "role": "user", "content": "x"}


@pytest.fixture
async def storage():
    storage = guarded(memory_storage()).storage
    await storage.for_person(ANN).chats.save("plans", {"messages": [MESSAGE]})
    return storage


async def test_nobody_lists_another_persons_chats(storage):
    chats = storage.for_person(BOB).chats
    assert await chats.listing.rows(BOB) == []
    for list_them in (
        chats.listing.rows(ANN),
        chats.listing.search(ANN, "x"),
        chats.listing.revisions(ANN),
        chats.trash.listed(ANN),
        chats.trash.empty(ANN),
    ):
        with pytest.raises(ValueError, match="of 'ann' were asked for in the storage of 'bob'"):
            await list_them


async def test_the_programs_own_work_lists_any_persons_chats(storage):
    assert [row.id for row in await storage.chats.listing.rows(ANN)] == ["plans"]
    assert await storage.chats.listing.rows(BOB) == []


async def test_one_persons_storage_gives_no_way_to_anothers(storage):
    bobs = storage.for_person(BOB)
    for again in (bobs, bobs.for_person(ANN), bobs.for_person(ANN).for_person(ANN)):
        assert again.person == BOB
        assert not await again.chats.exists("plans")
        assert (await again.chats.load("plans"))["messages"] == []
    assert await storage.for_person(ANN).for_person(BOB).chats.exists("plans")


async def test_two_people_use_one_storage_at_once_and_each_gets_their_own(storage):
    anns, bobs = storage.for_person(ANN), storage.for_person(BOB)
    await bobs.chats.save("notes", {"messages": [MESSAGE]})
    anns.vault_documents.write("contexts", "k", {"of": "ann"})
    bobs.vault_documents.write("contexts", "k", {"of": "bob"})
    file = await bobs.blobs.put("a.txt", b"words")
    seen = [
        (
            [row.id for row in await each.chats.listing.rows(each.person)],
            each.vault_documents.read("contexts", "k"),
            await each.blobs.read(file.storage_key),
        )
        for each in (anns, bobs)
    ]
    assert seen == [(["plans"], {"of": "ann"}, None), (["notes"], {"of": "bob"}, "words")]
