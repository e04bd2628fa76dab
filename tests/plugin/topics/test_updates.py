"""Topics that are kept up to date in the background."""

import asyncio
import json

import pytest

from smart_context.base.errors import ModelFailed
from smart_context.topics.stored import MOST_TOPICS, to_assignments
from smart_context.topics.values import Topic
from tests.host.conftest import until
from tests.scripted import Scripted, ScriptedChatModel
from tests.vaults import about, read_chat, write_chat

pytestmark = pytest.mark.anyio

HELLO = {"id": "m", "role": "user", "content": "How do I tie a bowline?"}


BREAD = "sourdough starter flour bread oven"
PYTHON = "python asyncio event loop tasks"
TWO = about(*[f"{words} {n}" for words in (BREAD, PYTHON) for n in range(8)])


def names(*given, **others):
    return json.dumps({str(n): name for n, name in enumerate(given, 1)} | {"title": "", **others})


def labels(topics):
    return [topic["label"] for topic in topics if not topic.get("sticky")]


def by_subject(messages):
    """Names the groups by what they say, whichever comes first."""
    shown = messages[-1]["content"].split("Group 2")
    both = ["Starter for Bread" if "flour" in s else "Event Loop of Python" for s in shown]
    return names(*both, title="Bread and Python")


async def test_groups_are_shown_at_once_and_named_by_the_model_when_it_answers(vault, served):
    write_chat(vault, "c", TWO)
    gate = asyncio.Event()
    fast = ScriptedChatModel([Scripted(pieces=(names(),), gate=gate)])
    async with served(fast=fast) as running:
        await running.call("refresh_topics", chat_id="c")
        await until(lambda: fast.asked)
        shown = (await running.call("get_topics", chat_id="c"))["topics"]
        assert [topic["count"] for topic in shown] == [8, 8]
        (asked,) = fast.asked
        assert "Group 2" in asked.messages[-1]["content"]
        assert "m0" not in asked.messages[-1]["content"]
        gate.set()


async def test_a_model_names_a_group_once_until_it_has_doubled(vault, served):
    write_chat(vault, "c", TWO)
    async with served(fast=(fast := ScriptedChatModel(by_subject))) as running:
        for _ in range(2):
            found = await running.call("refresh_topics", chat_id="c", wait=True)
            assert set(labels(found["topics"])) == {"Starter for Bread", "Event Loop of Python"}
        assert len(fast.asked) == 1
        more = about(*[f"{BREAD} {n}" for n in range(8, 18)])
        grown = [*TWO, *({**message, "id": f"n{message['id']}"} for message in more)]
        await running.call("memory.save_chat", chat_id="c", data={"messages": grown})
        found = await running.call("refresh_topics", chat_id="c", wait=True)
        assert "Group 2" not in fast.asked[-1].messages[-1]["content"]
        assert '["Event Loop of Python"]' in fast.asked[-1].messages[-1]["content"]
        assert read_chat(vault, "c")["title"] == "Bread and Python"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        pytest.param("I would rather not.", "scripted gave no names for the topics", id="talk"),
        pytest.param(ModelFailed("refused"), "scripted did not answer: refused", id="no answer"),
    ],
)
async def test_without_names_the_groups_keep_their_own_and_the_reason_is_told(
    vault, served, reply, reason
):
    write_chat(vault, "c", TWO)
    async with served(fast=ScriptedChatModel([reply])) as running:
        found = await running.call("refresh_topics", chat_id="c", wait=True)
        assert len(labels(found["topics"])) == 2
        (ended,) = running.named("smart_context.extraction")[1:]
        assert ended["state"] == "failed"
        assert reason in ended["reason"]
    assert read_chat(vault, "c")["title"]


async def test_topics_from_elsewhere_stand_until_there_are_better_ones(vault, served):
    topics = [{"label": "Baking", "count": 8}, {"label": "Programming", "count": 8}]
    write_chat(vault, "c", TWO, topics=topics)
    async with served(fast=ScriptedChatModel(["no"])) as running:
        await running.call("refresh_topics", chat_id="c", wait=True)
        assert read_chat(vault, "c")["topics"] == topics
    async with served(fast=ScriptedChatModel(by_subject)) as running:
        found = await running.call("refresh_topics", chat_id="c", wait=True)
        assert len(labels(found["topics"])) == 2


async def test_an_edit_loses_none_of_the_topics_that_are_too_many_to_count(vault, served):
    topics = [{"label": f"Topic {n}", "count": 1} for n in range(MOST_TOPICS + 3)]
    write_chat(vault, "c", TWO, topics=topics)
    async with served() as running:
        shown = await running.call(
            "rename_topic", chat_id="c", label="Topic 0", new_label="Topic 0 too"
        )
        assert len(shown["topics"]) == MOST_TOPICS
        assert f"500 of {MOST_TOPICS + 3} topics" in shown["status"]
    now = labels(read_chat(vault, "c")["topics"])
    assert sorted(now) == sorted(["Topic 0 too", *(topic["label"] for topic in topics[1:])])


async def test_a_topic_that_is_picked_while_the_model_thinks_keeps_its_name(vault, served):
    write_chat(vault, "c", TWO)
    gate = asyncio.Event()
    held = ScriptedChatModel(lambda shown: Scripted(pieces=(by_subject(shown),), gate=gate))
    async with served(fast=held) as running:
        waiting = asyncio.create_task(running.call("refresh_topics", chat_id="c", wait=True))
        await until(lambda: held.asked)
        shown = labels((await running.call("get_topics", chat_id="c"))["topics"])
        await running.call("set_filter", chat_id="c", topics=shown[:1])
        gate.set()
        after = labels((await waiting)["topics"])
        assert shown[0] in after
        assert shown[1] not in after


@pytest.mark.parametrize(
    "message",
    [pytest.param(HELLO["content"], id="deleted meanwhile"), pytest.param("", id="never there")],
)
async def test_an_extraction_makes_no_file_for_a_chat_that_is_not_there(vault, served, message):
    found = asyncio.Event()
    fast = ScriptedChatModel([Scripted(pieces=(names("Bowline"),), gate=found)])
    async with served(fast=fast) as running:
        if message:
            await running.call("chat.send", chat_id="c", message=message)
            await until(lambda: fast.asked)
            await running.call("memory.delete_chat", chat_id="c")
        else:
            await running.call("refresh_topics", chat_id="c")
        found.set()
        await until(lambda: len(running.named("smart_context.extraction")) == 2)
        ended = running.named("smart_context.extraction")[-1]
        assert ended["state"] == "failed"
        assert "There is no chat 'c'" in ended["reason"]
    assert not list((vault / ".memory").glob("c.*"))


async def test_messages_that_only_resemble_a_label_are_grouped_as_in_a_new_chat(vault, served):
    subjects = ("sourdough starter flour bread oven", "python asyncio event loop tasks")
    messages = about(*[f"{words} {n}" for words in subjects for n in range(8)])
    path = write_chat(vault, "c", messages, topics=[{"label": "Advice", "count": 16}])
    ids = tuple(message["id"] for message in messages)
    alike = to_assignments([Topic(label="Advice", count=16, message_ids=ids)])
    path.with_suffix(".topics.json").write_text(json.dumps(alike))
    write_chat(vault, "new", messages)
    async with served() as running:
        after, new = [
            await running.call("refresh_topics", chat_id=chat_id, wait=True)
            for chat_id in ("c", "new")
        ]
    assert len(new["topics"]) > 1
    assert [t["count"] for t in after["topics"]] == [t["count"] for t in new["topics"]]


async def test_who_waits_for_an_extraction_gets_an_answer_when_a_newer_one_begins(vault, served):
    write_chat(vault, "c", TWO)
    replies = iter([lambda _: Scripted(gate=asyncio.Event()), by_subject])

    def reply(shown):
        return next(replies)(shown)

    fast = ScriptedChatModel(reply)
    async with served(fast=fast) as running:
        waiting = asyncio.create_task(running.call("refresh_topics", chat_id="c", wait=True))
        await until(lambda: fast.asked)
        newer = await running.call("refresh_topics", chat_id="c", wait=True)
        assert set(labels(newer["topics"])) == {"Starter for Bread", "Event Loop of Python"}
        assert (await waiting)["total_messages"] == 16


async def test_undoing_an_edit_keeps_what_an_extraction_has_found_since_then(vault, served):
    write_chat(vault, "c", TWO)
    note = {"id": "n", "role": "user", "content": "Always answer in one sentence."}
    async with served() as running:
        found = await running.call("refresh_topics", chat_id="c", wait=True)
        gone, stays = labels(found["topics"])
        await running.call("delete_topic", chat_id="c", label=gone)
        await running.call("memory.save_chat", chat_id="c", data={"messages": [*TWO, note]})
        await running.call("refresh_topics", chat_id="c", wait=True)
        undone = await running.call("undo", chat_id="c")
        assert set(labels(undone["topics"])) == {stays, gone}
        assert undone["sticky"] == ["n"]
