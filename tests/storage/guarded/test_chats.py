"""The chats of several people, each behind the guard."""

import pytest

from smart_context.base.asking import asking
from smart_context.base.values import PersonId
from smart_context.storage.guarded.storage import guarded
from tests.storage.memory import memory_storage

pytestmark = pytest.mark.anyio

ANN, BOB = PersonId("ann"), PersonId("bob")


@pytest.fixture
async def chats():
    chats = guarded(memory_storage()).storage.chats
    with asking(ANN):
        await chats.save("plans", {"messages": [{"id": "a", "role": "user", "content": "x"}]})
    return chats


async def test_nobody_lists_another_persons_chats(chats):
    with asking(BOB):
        assert await chats.listing.rows(BOB) == []
        for list_them in (
            chats.listing.rows(ANN),
            chats.listing.search(ANN, "x"),
            chats.listing.revisions(ANN),
            chats.trash.listed(ANN),
            chats.trash.empty(ANN),
        ):
            with pytest.raises(ValueError, match="of 'ann' were asked for while working for 'bob'"):
                await list_them


async def test_the_programs_own_work_lists_any_persons_chats(chats):
    assert [row.id for row in await chats.listing.rows(ANN)] == ["plans"]
    assert await chats.listing.rows(BOB) == []
