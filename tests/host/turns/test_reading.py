"""How much a model reads, and how far it is, is told while nothing of its answer has come."""

import asyncio

import pytest

from smart_context.host.turns import reading
from smart_context.host.turns.reading import SlowReading
from smart_context.llm.models import AnswerPiece, ReadingProgress
from tests.host.conftest import until
from tests.scripted import Scripted

pytestmark = pytest.mark.anyio


@pytest.fixture
def at_once(monkeypatch):
    """Any answer takes long."""
    monkeypatch.setattr(reading, "SLOW_S", 0.0)


async def test_of_a_slow_answer_it_is_told_how_many_tokens_are_read_for_it(bench, at_once):
    gate = asyncio.Event()
    bench.reply(Scripted(pieces=("Aye",), gate=gate))
    asking = asyncio.create_task(bench.call("chat.send", chat_id="c1", message="Hello " * 300))
    await until(lambda: bench.named("chat.reading"))
    missed = (await bench.call("chat.open", chat_id="c1"))["answering"]["reading"]
    gate.set()
    _, answer = (await asking)["message_ids"]
    (told,) = bench.named("chat.reading")
    assert told["message_id"] == answer
    assert told["percent"] is None
    assert 300 <= told["tokens"] < 600
    assert told["seconds"] >= 0
    assert (missed["tokens"], missed["percent"]) == (told["tokens"], None)
    assert missed["seconds"] >= told["seconds"]


async def test_of_an_answer_that_comes_at_once_nothing_is_told(bench):
    bench.reply("Aye")
    await bench.call("chat.send", chat_id="c1", message="Hello")
    assert not bench.named("chat.reading")


async def test_what_a_server_says_of_its_reading_is_told_once_for_each_percent(bench):
    said = [AnswerPiece(reading=ReadingProgress(tokens=899, percent=p)) for p in (0, 40, 40, 100)]
    bench.reply(
        Scripted(pieces=(*said, "Aye", AnswerPiece(reading=ReadingProgress(tokens=9, percent=9))))
    )
    await bench.call("chat.send", chat_id="c1", message="Hello")
    told = [(news["tokens"], news["percent"]) for news in bench.named("chat.reading")]
    assert told == [(899, 0), (899, 40), (899, 100)]
    chat = await bench.call("memory.load_chat", chat_id="c1")
    assert chat["messages"][-1]["content"] == "Aye"


async def test_a_count_that_comes_too_late_is_not_told(at_once):
    told = []
    counting, may_end = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def count():
        loop.call_soon_threadsafe(counting.set)
        asyncio.run_coroutine_threadsafe(may_end.wait(), loop).result()
        return 9

    with SlowReading(count, lambda *news: told.append(news)):
        await counting.wait()
    may_end.set()
    await asyncio.to_thread(int)
    assert told == []
