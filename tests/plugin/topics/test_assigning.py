"""What a person says that messages are about is kept for good, and can be taken back."""

import json
from dataclasses import replace

import pytest

from smart_context.base.errors import CommandFailed, InvalidParams
from smart_context.topics.stored import to_assignments, to_stored
from smart_context.topics.values import Extraction, Topic
from tests.vaults import BOATS, write_boats_and_knots

pytestmark = pytest.mark.anyio

FOUND = {"Boats": "q1 a1 q2 a2 q3 a3 q5 a5", "Knots": "q4 a4 q6 a6 q7 a7"}


async def assign(running, ids, topic=None, **more):
    params = {"chat_id": "c", "message_ids": ids.split(), "topic_id": topic, **more}
    return await running.call("assign", **params)


async def members(running):
    shown = await running.call("topic_map", chat_id="c")
    ids = shown["message_ids"]
    return {t["label"]: " ".join(ids[place] for place in t["places"]) for t in shown["topics"]}


async def found_again(running):
    for regroup in (False, True):
        await running.call("refresh_topics", chat_id="c", wait=True, regroup=regroup)


async def why(running, message_id):
    shown = await running.call("preview", chat_id="c", message="And?")
    return next(row["reason"] for row in shown["messages"] if row["id"] == message_id)


async def test_a_message_about_another_topic_moves_there_and_never_back(vault, served):
    write_boats_and_knots(vault, "c", **FOUND)
    async with served() as running:
        shown = await assign(running, "q1 a1", "t-Knots")
        assert [(t["label"], t["count"]) for t in shown["topics"]] == [("Boats", 6), ("Knots", 8)]
        await found_again(running)
        assert (await members(running))["Knots"] == "q1 a1 q4 a4 q6 a6 q7 a7"
        kept = await running.call("set_filter", chat_id="c", topics=["Knots"])
        assert {"q1", "a1"} <= set(kept["kept_by"]["Knots"])
        assert await why(running, "q1") == "in: about Knots, as you chose"
        await running.call("rename_topic", chat_id="c", label="Knots", new_label="Ropes")
        assert await why(running, "a1") == "in: about Ropes, as you chose"
        await running.call("undo", chat_id="c")
        kept = await running.call("set_filter", chat_id="c", topics=["Boats"])
        assert {"q1", "a1"}.isdisjoint(kept["message_ids"])
        assert await why(running, "q1") == "out: about Knots, as you chose"
    async with served() as running:
        assert (await members(running))["Knots"] == "q1 a1 q4 a4 q6 a6 q7 a7"


async def test_a_message_about_nothing_is_in_no_topic(vault, served):
    write_boats_and_knots(vault, "c", **FOUND)
    async with served() as running:
        await assign(running, "q1 a1")
        await found_again(running)
        assert "q1" not in " ".join((await members(running)).values())
        kept = await running.call("set_filter", chat_id="c", topics=["Boats", "Knots"])
        assert "q1" not in kept["message_ids"]


async def test_a_message_not_about_a_topic_leaves_it_and_may_match_another(vault, served):
    write_boats_and_knots(vault, "c", **FOUND)
    async with served() as running:
        await assign(running, "q1", not_topic_id="t-Boats")
        await found_again(running)
        assert "q1" not in (await members(running))["Boats"]
        kept = await running.call("set_filter", chat_id="c", topics=["Boats"])
        assert "q1" not in kept.get("kept_by", {})["Boats"]
        await assign(running, "q1", "Boats")  # by label; the last word counts
        assert "q1" in (await members(running))["Boats"]


async def test_a_message_not_about_a_wider_topic_leaves_its_parts_too(vault, served):
    write_boats_and_knots(vault, "c", **FOUND)
    found = [
        Topic(label=label, count=len(ids.split()), message_ids=tuple(ids.split()), id=f"t-{label}")
        for label, ids in ({**FOUND, "Masts": "q1 a1 q2 a2", "Keels": "q3 a3 q5 a5"}).items()
    ]
    tree = [replace(t, parent_id="t-Boats" if t.label in ("Masts", "Keels") else "") for t in found]
    path = vault / ".memory" / "c.json"
    chat = json.loads(path.read_text())
    path.write_text(json.dumps({**chat, "topics": to_stored(Extraction(topics=(*tree,)), (), ())}))
    path.with_suffix(".topics.json").write_text(json.dumps(to_assignments(tree, seen="a7")))
    async with served() as running:
        assert (await members(running))["Masts"] == "q1 a1 q2 a2"
        await assign(running, "q1 a1", not_topic_id="t-Boats")
        await running.call("refresh_topics", chat_id="c", wait=True)
        inside = [
            ids.split() for label, ids in (await members(running)).items() if label != "Knots"
        ]
        assert inside
        assert not any({"q1", "a1"} & {*ids} for ids in inside)
        kept = await running.call("set_filter", chat_id="c", topics=["Boats"])
        assert {"q1", "a1"}.isdisjoint(kept["kept_by"]["Boats"])
        assert await why(running, "q1") == "out: not part of Boats, as you chose"
        await running.call("undo", chat_id="c")  # the pick
        await running.call("undo", chat_id="c")
        assert "q1" in (await members(running))["Boats"]


async def test_undo_puts_the_messages_back_and_lets_extraction_decide_again(vault, served):
    write_boats_and_knots(vault, "c", **FOUND)
    async with served() as running:
        before = await members(running)
        shown = await assign(running, "q1 a1", "t-Knots")
        assert shown["undo_words"] == "2 messages about Knots"
        await assign(running, "q2", not_topic_id="t-Boats")
        await assign(running, "q3")
        await running.call("chat.send", chat_id="c", message=BOATS)  # topics grow meanwhile
        await running.call("refresh_topics", chat_id="c", wait=True)
        undone = [await running.call("undo", chat_id="c") for _ in range(3)]
        assert [step["undone_words"] for step in undone] == [
            "1 message about no topic",
            "1 message not about Boats",
            "2 messages about Knots",
        ]
        now = await members(running)
        assert now["Knots"] == before["Knots"]
        assert now["Boats"].startswith(before["Boats"])


async def test_undo_brings_a_topic_back_that_lost_all_of_its_messages(vault, served):
    write_boats_and_knots(vault, "c", **FOUND)
    async with served() as running:
        await assign(running, FOUND["Knots"], "t-Boats")
        assert list(await members(running)) == ["Boats"]
        await running.call("undo", chat_id="c")
        assert await members(running) == FOUND


async def test_what_was_said_while_a_topic_was_picked_goes_where_the_person_says(vault, served):
    write_boats_and_knots(vault, "c", **FOUND)
    async with served() as running:
        await running.call("set_filter", chat_id="c", topics=["Knots"])
        sent = await running.call("chat.send", chat_id="c", message=BOATS)
        await running.call("refresh_topics", chat_id="c", wait=True)
        await assign(running, " ".join(sent["message_ids"]), "t-Boats")
        await running.call("chat.send", chat_id="c", message="And a hitch in a rope?")
        await running.call("refresh_topics", chat_id="c", wait=True)
        question, _ = sent["message_ids"]
        assert question in (await members(running))["Boats"]


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"message_ids": ["zz"], "topic_id": "t-Knots"}, "has no message 'zz'"),
        ({"message_ids": [], "topic_id": "t-Knots"}, "expected at least one message"),
        ({"message_ids": ["q1"], "topic_id": "t9"}, "topic_id: this chat has no topic 't9'"),
        ({"message_ids": ["q1"], "not_topic_id": "t9"}, "not_topic_id: this chat has no topic"),
        ({"message_ids": ["q1"], "topic_id": "Boats", "not_topic_id": "Boats"}, "another topic"),
    ],
)
async def test_what_is_not_there_is_named(vault, served, params, words):
    write_boats_and_knots(vault, "c", **FOUND)
    async with served() as running:
        with pytest.raises(InvalidParams, match=words):
            await running.call("assign", chat_id="c", **params)
        with pytest.raises((CommandFailed, InvalidParams)):
            await running.call("assign", chat_id="none", message_ids=["q1"], topic_id="t1")


async def test_undo_leaves_topics_that_a_person_added_and_that_have_no_messages(vault, served):
    write_boats_and_knots(vault, "c", **FOUND)
    async with served() as running:
        await running.call("add_topic", chat_id="c", label="Rain")
        await running.call("set_filter", chat_id="c", topics=[])
        before = await members(running)
        await assign(running, "q1", "Rain")
        await running.call("undo", chat_id="c")
        assert await members(running) == before
        assert "Rain" in before
