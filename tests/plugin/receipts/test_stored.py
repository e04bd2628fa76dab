"""What is remembered of the receipts beside chats."""

import logging

import pytest

from smart_context.plugin.receipts import stored
from smart_context.plugin.receipts.receipt import Receipt
from smart_context.plugin.receipts.stored import MAX_CHATS, StoredReceipts
from smart_context.plugin.selection.last_request import LastRequest
from tests.storage.memory import MemoryLog, memory_storage

pytestmark = pytest.mark.anyio

CHATS = [f"c{number}" for number in range(3 * MAX_CHATS)]


@pytest.fixture
def receipts():
    return StoredReceipts(memory_storage().logs, logging.getLogger("test"))


@pytest.fixture
def read(monkeypatch):
    """The chats' logs that were read."""
    names, lines = [], MemoryLog.lines

    async def noted(log):
        names.append(log)
        return await lines(log)

    monkeypatch.setattr(MemoryLog, "lines", noted)
    return names


def receipt():
    names = {"turn": "t", "question": "q", "answer": "a", "at": "", "outcome": "finished"}
    return Receipt(**names, settings={"threshold": 0.4, "recent_messages": 2}, models={})


def last_request(length):
    ids = tuple(f"m{number}" for number in range(length))
    return LastRequest(
        asked_at=1.0,
        model="m",
        head=(),
        sent=ids,
        tokens=dict.fromkeys(ids, 1),
    )


async def test_the_last_requests_of_many_short_chats_are_remembered(receipts, read):
    for chat in CHATS:
        await receipts.add(chat, receipt(), last_request(10))
    assert [len((await receipts.last_request(chat)).sent) for chat in CHATS] == [10] * len(CHATS)
    assert not read


async def test_long_last_requests_make_room_for_each_other(receipts, read, monkeypatch):
    monkeypatch.setattr(stored, "MAX_MESSAGES", 100)
    receipts = StoredReceipts(memory_storage().logs, logging.getLogger("test"))
    for chat in ("long", "longer"):
        await receipts.add(chat, receipt(), last_request(len(chat) * 30))
    assert await receipts.last_request("longer")
    assert not read
    await receipts.last_request("long")
    assert len(read) == 1


async def test_a_receipt_that_tells_nothing_of_the_next_request_forgets_what_was_known(
    receipts, read
):
    await receipts.add("c", receipt(), last_request(1))
    await receipts.add("c", receipt(), None)
    assert await receipts.last_request("c") is None
    assert len(read) == 1


async def test_the_newest_lines_of_a_log_are_read_and_one_of_many_damaged_ones_is_logged(
    receipts, monkeypatch, caplog
):
    sound, newer = receipt().to_line().encode(), [b"{}"] * (stored.MOST_LINES - 1)

    async def lines(_log):
        return [sound, sound, *newer]

    monkeypatch.setattr(MemoryLog, "lines", lines)
    assert len(await receipts.all("chat")) == 1
    assert len(caplog.records) == 1
