"""Messages that move between topics never do so in silence, and can be put back."""

import pytest

from tests.vaults import write_boats_and_knots

pytestmark = pytest.mark.anyio

MISPLACED = {"Boats": "q1 a1 q2 a2 q3 a3", "Knots": "q4 a4 q5 a5 q6 a6 q7 a7"}
"""`q5` and its answer, which are about boats, were taken for knots."""


def members(topics):
    return {topic["label"]: topic["count"] for topic in topics if not topic.get("sticky")}


async def found_again(running):
    return await running.call("refresh_topics", chat_id="c", wait=True, regroup=True)


async def extracted(running):
    return await running.call("refresh_topics", chat_id="c", wait=True)


async def test_a_move_out_of_a_picked_topic_is_told_can_be_undone_and_stays_undone(vault, served):
    write_boats_and_knots(vault, "c", **MISPLACED)
    async with served() as running:
        await running.call("set_filter", chat_id="c", topics=["Knots"])
        moved_to = await found_again(running)
        (told,) = running.named("smart_context.topics_updated")[-1]["moved"]
        assert (told["message_ids"], told["from"], told["to"]) == (["q5", "a5"], "Knots", "Boats")
        assert told["why"] == "You had the topics found again."
        assert members(moved_to["topics"]) == {"Boats": 8, "Knots": 6}
        shown = await running.call("get_topics", chat_id="c")  # as a page does that opens now
        assert shown["moved"] == [told]
        assert shown["undo_words"] == "2 messages moved from Knots to Boats"
        undone = await running.call("undo", chat_id="c")
        assert (undone["undone"], undone["undone_words"]) == ("the topics", shown["undo_words"])
        assert (undone["moved"], undone["undo_words"]) == ([], "Knots picked")
        assert undone["active_topics"] == ["Knots"]
        assert members(undone["topics"]) == {"Boats": 6, "Knots": 8}
        again = await extracted(running)
        assert members(again["topics"]) == {"Boats": 6, "Knots": 8}
        assert "moved" not in running.named("smart_context.topics_updated")[-1]


async def rename(running):
    await running.call("rename_topic", chat_id="c", label="Knots", new_label="Knots in a Rope")
    return "Knots in a Rope"


async def pin(running):
    await running.call("pin", chat_id="c", message_ids=["q5"])
    return "Knots"


async def send_with_it(running):
    await running.call("set_filter", chat_id="c", topics=["Knots"])
    await running.call("chat.send", chat_id="c", message="And now?")
    await running.call("set_filter", chat_id="c", topics=[])
    return "Knots"


@pytest.mark.parametrize("rely", [rename, pin, send_with_it], ids=lambda rely: rely.__name__)
async def test_a_move_out_of_a_topic_that_the_user_relies_on_is_told_and_taken_back(
    vault, served, rely
):
    write_boats_and_knots(vault, "c", **MISPLACED)
    async with served() as running:
        origin = await rely(running)
        before = members((await extracted(running))["topics"])
        await found_again(running)
        shown = await running.call("get_topics", chat_id="c")
        (told,) = [move for move in shown["moved"] if "q5" in move["message_ids"]]
        assert (told["message_ids"], told["from"]) == (["q5", "a5"], origin)
        undone = await running.call("undo", chat_id="c")
        assert members(undone["topics"]) == before


async def test_a_move_between_topics_that_nobody_uses_needs_no_words(vault, served):
    write_boats_and_knots(vault, "c", **MISPLACED)
    async with served() as running:
        await found_again(running)
        shown = await running.call("get_topics", chat_id="c")
        assert members(shown["topics"]) == {"Boats": 8, "Knots": 6}
        assert (shown["moved"], shown["undo_words"]) == ([], "")


async def test_a_picked_topic_stays_though_its_words_come_back_in_another_order(vault, served):
    topics = {"Harbour Boats": "q1 a1 q2 a2 q3 a3 q5 a5", "Knots": "q4 a4 q6 a6 q7 a7"}
    write_boats_and_knots(vault, "c", **topics)
    async with served() as running:
        await running.call("set_filter", chat_id="c", topics=["Harbour Boats"])
        found = await found_again(running)
        assert members(found["topics"]) == {"Harbour Boats": 8, "Knots": 6}
