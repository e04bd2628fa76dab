"""Topics that are kept up to date in the background."""

import asyncio
import json

import pytest

from smart_context.base.errors import ModelFailed
from smart_context.plugin.topics import updates
from smart_context.topics.stored import MOST_COUNTING, to_assignments
from smart_context.topics.values import Topic
from tests.host.conftest import until
from tests.scripted import Scripted, ScriptedChatModel, ScriptedEmbedder
from tests.vaults import about, read_chat, write_boats_and_knots, write_chat

pytestmark = pytest.mark.anyio

HELLO = {"id": "m", "role": "user", "content": "How do I tie a bowline?"}


BREAD = "sourdough starter flour bread oven"
PYTHON = "python asyncio event loop tasks"
TWO = about(*[f"{words} {n}" for words in (BREAD, PYTHON) for n in range(8)])


class Gate(ScriptedEmbedder):
    """An embedder that answers while it is opened."""

    def __init__(self):
        super().__init__()
        self.opened, self.reached = asyncio.Event(), asyncio.Event()

    def close(self):
        self.opened.clear()
        self.reached.clear()

    async def embed(self, texts):
        self.reached.set()
        await self.opened.wait()
        return await super().embed(texts)


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
    topics = [{"label": f"Topic {n}", "count": 1} for n in range(MOST_COUNTING + 3)]
    write_chat(vault, "c", TWO, topics=topics)
    async with served() as running:
        shown = await running.call(
            "rename_topic", chat_id="c", label="Topic 0", new_label="Topic 0 too"
        )
        assert len(shown["topics"]) == MOST_COUNTING
        assert f"500 of {MOST_COUNTING + 3} topics" in shown["status"]
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


async def test_topics_that_came_without_messages_have_places_whatever_the_model_says(vault, served):
    """The map and what an answer knew are drawn from them; the ids keep each bubble in place."""
    write_chat(vault, "c", TWO, topics=[{"label": BREAD}, {"label": PYTHON}])
    async with served(fast=ScriptedChatModel(["no names"])) as running:
        before = await running.call("get_topics", chat_id="c")
        await running.call("refresh_topics", chat_id="c", wait=True)
        assert running.named("smart_context.extraction")[-1]["state"] == "failed"
        told = running.named("smart_context.topics_updated")
        assert [news["topics"] for news in told] == [before["topics"]]
        placed = await running.call("topic_map", chat_id="c")
    bread, python = (set(topic["places"]) for topic in placed["topics"])
    assert set() < bread <= set(range(8))
    assert set() < python <= set(range(8, 16))
    assert [topic["id"] for topic in placed["topics"]] == [t["id"] for t in before["topics"]]


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


async def test_of_a_long_chat_the_newest_messages_are_grouped_and_the_others_keep_their_topics(
    vault, served, monkeypatch
):
    write_chat(vault, "c", TWO)
    more = [{**said, "id": f"n{said['id']}"} for said in about(f"{PYTHON} 8", f"{PYTHON} 9")]
    async with served() as running:
        found = await running.call("refresh_topics", chat_id="c", wait=True)
        before = {topic["id"]: topic["label"] for topic in found["topics"]}
        monkeypatch.setattr(updates, "MOST_GROUPED", 4)
        await running.call("memory.save_chat", chat_id="c", data={"messages": [*TWO, *more]})
        found = await running.call("refresh_topics", chat_id="c", wait=True)
    assert {topic["id"]: topic["label"] for topic in found["topics"]} == before
    assert sorted(topic["count"] for topic in found["topics"]) == [8, 10]


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


async def test_a_chat_without_topics_gets_them_when_it_is_opened_and_no_model_is_asked(
    vault, served
):
    write_chat(vault, "c", TWO)
    fast = ScriptedChatModel(by_subject)
    async with served(fast=fast) as running:
        await running.call("chat.open", chat_id="c")
        await until(lambda: len(running.named("smart_context.extraction")) == 2)
        shown = (await running.call("get_topics", chat_id="c"))["topics"]
        assert [topic["count"] for topic in shown] == [8, 8]
        assert not fast.asked
        named = await running.call("refresh_topics", chat_id="c", wait=True)
        assert set(labels(named["topics"])) == {"Starter for Bread", "Event Loop of Python"}


async def test_opening_a_chat_does_not_begin_anew_what_is_under_way(vault, served):
    write_chat(vault, "c", TWO)
    gate = Gate()
    async with served(embedder=gate, fast=ScriptedChatModel(by_subject)) as running:
        waiting = asyncio.create_task(running.call("refresh_topics", chat_id="c", wait=True))
        await gate.reached.wait()
        await running.call("chat.open", chat_id="c")
        gate.opened.set()
        found = await waiting
        assert set(labels(found["topics"])) == {"Starter for Bread", "Event Loop of Python"}


async def superseded_by_a_turn(running, gate, messages, **refresh):
    """What a waiting refresh gives if a turn ends while the messages are embedded."""
    await running.call("memory.save_chat", chat_id="c", data={"messages": messages})
    gate.close()
    refresh = running.call("refresh_topics", chat_id="c", wait=True, **refresh)
    waiting = asyncio.create_task(refresh)
    await gate.reached.wait()
    await running.call("chat.send", chat_id="c", message="And now?", stream=False)
    gate.opened.set()
    return (await waiting)["topics"]


async def test_who_waits_while_a_turn_ends_gets_the_topics_of_its_messages_too(vault, served):
    write_chat(vault, "c", TWO[:8])
    gate = Gate()
    gate.opened.set()
    async with served(embedder=gate) as running:
        await running.call("refresh_topics", chat_id="c", wait=True)
        found = await superseded_by_a_turn(running, gate, TWO)
        assert len([topic for topic in found if topic["count"] >= 8]) == 2


async def test_a_wish_to_group_a_chat_again_outlives_a_turn_that_ends_meanwhile(vault, served):
    ids = {"Boats": "q1 a1 q2 a2 q3 a3", "Knots": "q4 a4 q5 a5 q6 a6 q7 a7"}
    write_boats_and_knots(vault, "c", **ids)  # q5 and its answer are about boats
    messages = read_chat(vault, "c")["messages"]
    gate = Gate()
    gate.opened.set()
    async with served(embedder=gate) as running:
        await running.call("rename_topic", chat_id="c", label="Knots", new_label="Tying Knots")
        new = {"id": "new", "role": "user", "content": "One more word"}
        await superseded_by_a_turn(running, gate, [*messages, new], regroup=True)
        (told,) = running.named("smart_context.topics_updated")[-1]["moved"]
        assert told["why"] == "You had the topics found again."
