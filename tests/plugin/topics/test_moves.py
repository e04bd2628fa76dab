"""Messages that move between topics never do so in silence, and can be put back."""

import json

import pytest

from smart_context.llm.offline.scripted import ScriptedChatModel

pytestmark = pytest.mark.anyio


def reply(**topics):
    found = [
        {"label": label, "count": len(ids.split()), "message_ids": ids.split()}
        for label, ids in topics.items()
    ]
    return json.dumps({"topics": found, "sticky_message_ids": []})


def chat(*ids):
    return {
        "messages": [
            {"id": i, "role": "user" if i[0] == "q" else "assistant", "content": f"about {i}"}
            for i in ids
        ]
    }


IDS = ("q1", "a1", "q2", "a2", "q3", "a3", "q4", "a4", "q5", "a5", "q6", "a6")
FIRST = reply(Boats="q1 a1 q2 a2 q3 a3", Knots="q4 a4 q5 a5")
SECOND = reply(Boats="q1 a1 q2 a2 q3 a3 q5 a5", Knots="q4 a4 q6 a6")


def members(running_topics):
    return {topic["label"]: topic["count"] for topic in running_topics if not topic.get("sticky")}


async def extracted(running, *, regroup=False):
    return await running.call("refresh_topics", chat_id="c", wait=True, regroup=regroup)


async def test_a_move_out_of_a_picked_topic_is_told_can_be_undone_and_stays_undone(served):
    fast = ScriptedChatModel([FIRST, SECOND, SECOND])
    async with served(fast=fast) as running:
        await running.call("memory.save_chat", chat_id="c", data=chat(*IDS[:10]))
        await extracted(running)
        await running.call("set_filter", chat_id="c", topics=["Knots"])
        await running.call("memory.save_chat", chat_id="c", data=chat(*IDS))
        moved_to = await extracted(running)
        (told,) = running.named("smart_context.topics_updated")[-1]["moved"]
        assert (told["message_ids"], told["from"], told["to"]) == (["q5", "a5"], "Knots", "Boats")
        assert told["why"]
        assert members(moved_to["topics"]) == {"Boats": 8, "Knots": 4}
        undone = await running.call("undo", chat_id="c")
        assert undone["undone"] == "the topics"
        assert undone["active_topics"] == ["Knots"]
        assert members(undone["topics"]) == {"Boats": 6, "Knots": 6}
        again = await extracted(running)
        assert members(again["topics"]) == {"Boats": 6, "Knots": 6}
        assert "moved" not in running.named("smart_context.topics_updated")[-1]


async def test_a_model_that_sorts_a_chat_anew_moves_nothing_that_stands(served):
    shuffled = reply(Sailing="q3 a3 q4 a4 q5 a5", Ropes="q1 a1 q2 a2 q6 a6")
    fast = ScriptedChatModel([reply(Boats="q1 a1 q2 a2 q3 a3", Knots="q4 a4"), shuffled])
    more = ("q7", "a7", "q8", "a8")
    async with served(fast=fast) as running:
        await running.call("memory.save_chat", chat_id="c", data=chat(*IDS))
        first = await extracted(running)
        await running.call("memory.save_chat", chat_id="c", data=chat(*IDS, *more))
        second = await extracted(running)
        before, after = (
            next(t for t in found["topics"] if t["label"] == "Boats") for found in (first, second)
        )
        assert before["id"] == after["id"]
        assert after["count"] >= before["count"]


async def test_finding_all_topics_again_groups_afresh_and_says_so(served):
    shuffled = reply(Sailing="q3 a3 q4 a4", Knots="q1 a1 q2 a2")
    fast = ScriptedChatModel([FIRST, shuffled])
    async with served(fast=fast) as running:
        await running.call("memory.save_chat", chat_id="c", data=chat(*IDS))
        await extracted(running)
        await running.call("set_filter", chat_id="c", topics=["Boats"])
        found = await extracted(running, regroup=True)
        assert members(found["topics"])["Sailing"] == 4
        moved = running.named("smart_context.topics_updated")[-1]["moved"]
        assert all(move["from"] == "Boats" or move["to"] == "Boats" for move in moved)
        assert {move["why"] for move in moved} == {"You had the topics found again."}
