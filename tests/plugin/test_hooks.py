"""What is said while topics are picked stays in what that pick sends."""

import pytest

from smart_context.chat.messages import OFF_PICK
from tests.vaults import BOATS, KNOTS, write_boats_and_knots

pytestmark = pytest.mark.anyio

FOUND = {"Boats": "q1 a1 q2 a2 q3 a3 q5 a5", "Knots": "q4 a4 q6 a6 q7 a7"}


async def send(running, text, **more):
    sent = await running.call("chat.send", chat_id="c", message=text, **more)
    await running.call("refresh_topics", chat_id="c", wait=True)
    return sent["message_ids"]


async def pick(running, *labels):
    return await running.call("set_filter", chat_id="c", topics=list(labels))


async def rows(running):
    shown = await running.call("preview", chat_id="c", message="And now?")
    return {row["id"]: row for row in shown["messages"]}


async def members(running):
    topics = (await running.call("topic_map", chat_id="c"))["topics"]
    ids = (await running.call("topic_map", chat_id="c"))["message_ids"]
    return {topic["label"]: [ids[place] for place in topic["places"]] for topic in topics}


async def test_a_question_and_its_answer_stay_in_the_pick_that_they_were_said_under(vault, served):
    write_boats_and_knots(vault, "c", **FOUND)
    async with served() as running:
        await pick(running, "Knots")
        said = await send(running, f"{BOATS} again")  # which sounds like another topic
        shown = await rows(running)
        assert [shown[i]["kind"] for i in said] == ["said"] * 2
        assert shown[said[0]]["reason"] == "in: said while Knots was picked"
        assert shown[said[0]]["short"] == "Sent – said while Knots was picked"
        assert set(said) <= set((await members(running))["Knots"])
        told = running.named("smart_context.topics_updated")
        moved = [move["from"] for payload in told for move in payload.get("moved", ())]
        assert "Knots" not in moved
        await pick(running, "Boats")
        await send(running, BOATS)
        assert {(await rows(running))[i]["in"] for i in said} == {False}
        kept = await pick(running, "Knots")
        assert set(said) <= set(kept["message_ids"])
        assert set(said) <= set(kept["kept_by"]["Knots"])
        receipt = await running.call("receipt", chat_id="c")
        assert receipt["messages"]
    async with served() as running:
        assert {(await rows(running))[i]["kind"] for i in said} == {"said"}
        found = await running.call("refresh_topics", chat_id="c", wait=True, regroup=True)
        assert set(said) <= set(found["message_ids"])
        assert set(said) <= set((await members(running))["Knots"])


async def test_the_receipt_of_the_next_answer_gives_the_same_reason(vault, served):
    write_boats_and_knots(vault, "c", **FOUND)
    async with served() as running:
        await pick(running, "Knots")
        question, answer = await send(running, BOATS)
        await send(running, BOATS)
        receipt = await running.call("receipt", chat_id="c")
        why = {row["id"]: (row["kind"], row["reason"]) for row in receipt["messages"]}
        assert why[question] == why[answer] == ("said", "in: said while Knots was picked")


async def test_a_typed_topic_that_nothing_is_about_keeps_what_was_said_under_it(vault, served):
    write_boats_and_knots(vault, "c", **FOUND)
    async with served() as running:
        await pick(running, "Quantum Gravity")
        said = await send(running, BOATS)
        await send(running, KNOTS)
        shown = await pick(running, "Quantum Gravity")
        assert not shown["fell_back"]
        assert set(said) <= set(shown["kept_by"]["Quantum Gravity"])
        assert set(said) <= set((await members(running))["Quantum Gravity"])


async def rename(running):
    await running.call("rename_topic", chat_id="c", label="Knots", new_label="Ropes")
    return "Ropes"


async def rename_and_say_more_and_undo(running):
    await rename(running)
    await send(running, BOATS)
    await running.call("undo", chat_id="c")
    return "Knots"


async def merge(running):
    await running.call("merge_topics", chat_id="c", labels=["Boats", "Knots"], new_label="Sailing")
    return "Sailing"


async def delete_and_undo(running):
    await running.call("delete_topic", chat_id="c", label="Knots")
    assert not (await running.call("get_topics", chat_id="c"))["active_topics"]
    await running.call("undo", chat_id="c")
    return "Knots"


@pytest.mark.parametrize("edit", [rename, rename_and_say_more_and_undo, merge, delete_and_undo])
async def test_it_stays_in_the_topic_that_the_picked_one_became(vault, served, edit):
    write_boats_and_knots(vault, "c", **FOUND)
    async with served() as running:
        await pick(running, "Knots")
        said = await send(running, BOATS)
        now = await edit(running)
        await send(running, KNOTS)
        await pick(running, now)
        shown = await rows(running)
        assert {shown[i]["reason"] for i in said} == {f"in: said while {now} was picked"}
        assert set(said) <= set((await members(running))[now])


async def test_what_was_said_goes_along_when_the_topic_gets_a_chat_of_its_own(vault, served):
    write_boats_and_knots(vault, "c", **FOUND)
    async with served() as running:
        await pick(running, "Knots")
        await send(running, BOATS)
        made = (await running.call("split", chat_id="c", topics=["Knots"]))["chat_id"]
        await running.call("set_filter", chat_id=made, topics=["Knots"])
        shown = await running.call("preview", chat_id=made, message="And now?")
        assert [row["kind"] for row in shown["messages"][-2:]] == ["said", "said"]


async def test_a_question_sent_off_the_pick_belongs_to_none(vault, served):
    write_boats_and_knots(vault, "c", **FOUND)
    async with served() as running:
        await pick(running, "Knots")
        question, answer = await send(running, BOATS, off_pick=True)
        await send(running, KNOTS)
        await send(running, KNOTS)
        shown = await rows(running)
        assert {shown[i]["in"] for i in (question, answer)} == {False}
        assert {question, answer} <= set((await members(running))["Boats"])
        await running.call("chat.regenerate", chat_id="c", message_id=question)
        stored = (await running.call("memory.load_chat", chat_id="c"))["messages"]
        assert next(m for m in stored if m["id"] == question)[OFF_PICK] is True


async def test_what_was_sent_off_the_pick_is_not_sent_by_its_score_either(vault, served):
    write_boats_and_knots(vault, "c", **FOUND)
    async with served() as running:
        await pick(running, "Knots")
        off = await send(running, f"{KNOTS} once more", off_pick=True)  # it matches to the letter
        for text in (KNOTS, f"{KNOTS} at last"):
            await send(running, text)
        shown = await rows(running)
        assert {shown[i]["reason"] for i in off} == {"out: not part of Knots, as you chose"}
        assert set(off).isdisjoint((await members(running))["Knots"])
        await running.call("assign", chat_id="c", message_ids=off, topic_id="t-Knots")
        assert {(await rows(running))[i]["in"] for i in off} == {True}


async def test_what_was_said_under_a_typed_topic_ends_no_fallback_of_raw_cosines(vault, served):
    write_boats_and_knots(vault, "c", **FOUND)
    settings = '[plugins.smart_context]\nrelevance = "plain"\nrecent_messages = 0\n'
    (vault / ".vault.toml").write_text(settings, encoding="utf-8")
    async with served() as running:
        await pick(running, "Quantum Gravity")
        await send(running, BOATS)
        shown = await pick(running, "Quantum Gravity")
        assert shown["fell_back"]
        assert len(shown["message_ids"]) == shown["total_messages"] == 16


async def test_with_several_topics_picked_it_joins_the_nearest_and_any_of_them_sends_it(
    vault, served
):
    write_boats_and_knots(vault, "c", **FOUND)
    async with served() as running:
        await pick(running, "Knots", "Boats")
        said = await send(running, BOATS)
        assert set(said) <= set((await members(running))["Boats"])
        for label in ("Knots", "Boats"):
            await pick(running, label)
            shown = await rows(running)
            assert {shown[i]["reason"] for i in said} == {f"in: said while {label} was picked"}


async def test_a_hidden_message_stays_out_though_it_was_said_under_the_pick(vault, served):
    write_boats_and_knots(vault, "c", **FOUND)
    async with served() as running:
        await pick(running, "Knots")
        question, _ = await send(running, BOATS)
        await running.call("hide", chat_id="c", message_ids=[question])
        assert (await rows(running))[question]["kind"] == "hidden"


async def test_what_is_said_is_no_step_to_undo(vault, served):
    write_boats_and_knots(vault, "c", **FOUND)
    async with served() as running:
        await pick(running, "Knots")
        await send(running, BOATS)
        shown = await running.call("get_topics", chat_id="c")
        assert (shown["undo_steps"], shown["undo_words"]) == (1, "Knots picked")
