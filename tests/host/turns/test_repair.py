"""Chats after a crash, and chats that another process is answering in."""

import asyncio
import json

import pytest

from smart_context.base.errors import CommandFailed
from smart_context.host.turns.repair import Repair
from smart_context.host.turns.transcript import INTERRUPTED
from smart_context.storage.files.answers import ANSWER_SUFFIX
from tests.chat.made_documents import full_disk, put
from tests.host.conftest import until
from tests.scripted import Scripted

pytestmark = pytest.mark.anyio


@pytest.fixture
async def other(make_bench, running):
    """Another host on the same vault: its locks are as foreign as another process's."""
    async with running(make_bench()) as other:
        yield other


def unfinished(bench, **more):
    """Write a chat whose answer nobody is writing."""
    answer = {"id": "a", "role": "assistant", "content": "", "generating": True, **more}
    question = {"id": "q", "role": "user", "content": "Why?"}
    path = bench.vault / ".memory" / "c1.json"
    return put(path, {"messages": [question, answer], "topics": [{"label": "x" * 2_000}]})


async def answering(bench, gate):
    """Begin a turn of which the first half has arrived."""
    bench.reply(Scripted(pieces=("Half, ", "whole"), gate=gate, hold_after=1), "Next.")
    task = asyncio.create_task(bench.call("chat.send", chat_id="c1", message="Why?"))
    await until(lambda: bench.named("chat.token"))
    return task


@pytest.mark.parametrize("command", ["chat.open", "memory.load_chat"])
async def test_an_answer_of_another_process_is_left_alone(bench, other, command):
    gate = asyncio.Event()
    task = await answering(bench, gate)
    await other.call(command, chat_id="c1")
    await Repair(
        other.host.services.storage.chats,
        other.host.services.storage.answers,
        other.host.turns,
        other.host.emit,
    ).all()
    (answer,) = [m for m in await other.messages("c1") if m.role == "assistant"]
    assert answer.generating
    assert not answer.error
    gate.set()
    await task
    assert (await other.messages("c1"))[1].text == "Half, whole"
    await bench.call("chat.send", chat_id="c1", message="And then?")
    assert bench.model.asked[-1].messages[1] == {"role": "assistant", "content": "Half, whole"}


async def test_an_answer_of_which_nothing_has_arrived_yet_is_left_alone_too(bench, other):
    bench.reply(Scripted(gate=asyncio.Event()))
    task = asyncio.create_task(bench.call("chat.send", chat_id="c1", message="Why?"))
    await until(lambda: bench.model.asked)
    await other.call("chat.open", chat_id="c1")
    assert (await other.messages("c1"))[1].generating
    await bench.call("chat.stop", chat_id="c1")
    await task


async def test_two_processes_do_not_answer_in_one_chat_at_once(bench, other):
    gate = asyncio.Event()
    task = await answering(bench, gate)
    with pytest.raises(CommandFailed, match="answered by another server"):
        await other.call("chat.send", chat_id="c1", message="Me too")
    assert other.model.asked == []
    gate.set()
    await task
    await other.call("chat.send", chat_id="c1", message="Now?")
    texts = [message.text for message in await other.messages("c1")]
    assert texts == ["Why?", "Half, whole", "Now?", "An answer in words"]


async def test_the_next_turn_keeps_what_a_crash_left_before_it_journals_its_own(bench):
    unfinished(bench)
    with bench.host.services.storage.answers.journal("c1", "a") as journal:
        journal.append("What had arrived")
    await bench.call("chat.send", chat_id="c1", message="Again?")
    answer = (await bench.messages("c1"))[1]
    assert (answer.text, answer.error) == ("What had arrived", INTERRUPTED)


async def test_a_refused_question_leaves_what_a_crash_left(bench):
    path = bench.vault / ".memory" / f"c1.{ANSWER_SUFFIX}"
    with bench.host.services.storage.answers.journal("c1", "a") as journal:
        journal.append("What had arrived")
    left = path.read_bytes()
    with pytest.raises(CommandFailed):
        await bench.call("chat.regenerate", chat_id="c1", message_id="nowhere")
    assert path.read_bytes() == left


@pytest.mark.parametrize("command", ["chat.open", "memory.load_chat"])
async def test_a_chat_can_be_opened_on_a_full_disk_and_is_repaired_later(bench, caplog, command):
    path = unfinished(bench)
    before = path.read_bytes()
    with full_disk(100):
        assert await bench.call(command, chat_id="c1")
    assert path.read_bytes() == before
    assert "could not be repaired" in caplog.text
    await bench.call(command, chat_id="c1")
    assert (await bench.messages("c1"))[1].error == INTERRUPTED


async def test_a_host_for_one_command_leaves_chats_as_they_are(make_bench, running):
    bench = make_bench(repairs=False)
    path = unfinished(bench)
    before = path.read_bytes()
    async with running(bench):
        await bench.call("chat.open", chat_id="c1")
        assert (await bench.call("memory.load_chat", chat_id="c1")) == json.loads(before)
    assert path.read_bytes() == before
