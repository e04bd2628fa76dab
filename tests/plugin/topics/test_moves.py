"""Messages that move between topics never do so in silence, and can be put back."""

import json

import pytest

from tests.scripted import ScriptedChatModel

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
        shown = await running.call("get_topics", chat_id="c")  # as a page does that opens now
        assert shown["moved"] == [told]
        assert shown["undo_words"] == "2 messages moved from Knots to Boats"
        undone = await running.call("undo", chat_id="c")
        assert (undone["undone"], undone["undone_words"]) == ("the topics", shown["undo_words"])
        assert (undone["moved"], undone["undo_words"]) == ([], "Knots picked")
        assert undone["active_topics"] == ["Knots"]
        assert members(undone["topics"]) == {"Boats": 6, "Knots": 6}
        again = await extracted(running)
        assert members(again["topics"]) == {"Boats": 6, "Knots": 6}
        assert "moved" not in running.named("smart_context.topics_updated")[-1]


async def rename(running):
    await running.call("rename_topic", chat_id="c", label="Knots", new_label="Ropes")
    return "Ropes", "Boats"


async def merge(running):
    await running.call("merge_topics", chat_id="c", labels=["Knots", "Sails"])
    return "Knots", "Boats"


async def pin(running):
    await running.call("pin", chat_id="c", message_ids=["q4"])
    return "Knots", "Boats"


async def send_with_it(running):
    await running.call("set_filter", chat_id="c", topics=["Knots"])
    await running.call("chat.send", chat_id="c", message="And now?")
    await running.call("set_filter", chat_id="c", topics=[])
    return "Knots", "Boats"


async def edit_by_hand(running):
    await running.call("delete_topic", chat_id="c", label="Boats")
    await running.call("add_topic", chat_id="c", label="Boats")
    return "Knots", "Boats"


@pytest.mark.parametrize(
    "rely", [rename, merge, pin, send_with_it, edit_by_hand], ids=lambda rely: rely.__name__
)
async def test_a_move_out_of_a_topic_that_the_user_relies_on_is_told_and_taken_back(served, rely):
    first = reply(Boats="q1 a1 q2 a2 q3 a3", Knots="q4 a4 q5 a5", Sails="q6 a6")
    second = reply(Boats="q1 a1 q2 a2 q3 a3 q5 a5", Knots="q4 a4", Sails="q6 a6")
    replies = [first]
    async with served(fast=ScriptedChatModel(lambda _: replies[-1])) as running:
        await running.call("memory.save_chat", chat_id="c", data=chat(*IDS))
        await extracted(running)
        origin, target = await rely(running)
        before = members((await extracted(running))["topics"])
        replies.append(second)
        after = members((await extracted(running))["topics"])
        assert after[origin] == before[origin] - 2
        shown = await running.call("get_topics", chat_id="c")
        (told,) = shown["moved"]
        assert (told["message_ids"], told["from"], told["to"]) == (["q5", "a5"], origin, target)
        undone = await running.call("undo", chat_id="c")
        assert members(undone["topics"]) == before
        assert members((await extracted(running))["topics"]) == before


async def test_a_move_between_topics_that_nobody_uses_needs_no_words(served):
    fast = ScriptedChatModel([FIRST, SECOND])
    async with served(fast=fast) as running:
        await running.call("memory.save_chat", chat_id="c", data=chat(*IDS))
        await extracted(running)
        await extracted(running)
        shown = await running.call("get_topics", chat_id="c")
        assert (shown["moved"], shown["undo_words"]) == ([], "")


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


async def test_a_picked_topic_stays_though_its_words_come_back_in_another_order(served):
    fast = ScriptedChatModel(
        [
            reply(**{"Boats & Knots": "q1 a1 q2 a2", "Gardens": "q3 a3 q4 a4"}),
            reply(**{"Knots & Boats": "q1 a1 q2 a2", "Gardens": "q3 a3 q4 a4"}),
        ]
    )
    async with served(fast=fast) as running:
        await running.call("memory.save_chat", chat_id="c", data=chat(*IDS))
        await extracted(running)
        await running.call("set_filter", chat_id="c", topics=["Boats & Knots"])
        found = await extracted(running, regroup=True)
        assert members(found["topics"]) == {"Boats & Knots": 4, "Gardens": 4}
