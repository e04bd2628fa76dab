"""What clients are told of a chat's filter, and when."""

import asyncio
import threading

import pytest

from smart_context.base.lookups import one_request
from smart_context.chat.documents.document import Version
from smart_context.plugin.selection import chat_filter, selector
from smart_context.storage.files.chats import FileChats
from tests.host.conftest import until
from tests.scripted import ScriptedEmbedder
from tests.vaults import KNOTS, write_boats_and_knots

pytestmark = pytest.mark.anyio

DRAFT = "boats with a mast, a keel, a rudder"

TEXTS = ["cats purr", "cats sleep", "boats sail", "boats sink", "bread rises", "bread bakes"]


class GatedEmbedder(ScriptedEmbedder):
    """Takes its time with one text."""

    def __init__(self, slow):
        super().__init__()
        self.slow = slow
        self.gate = asyncio.Event()

    async def embed(self, texts):
        found = await super().embed(texts)
        if self.slow in texts:
            await self.gate.wait()
        return found


@pytest.fixture
async def chat(vault):
    (vault / ".vault.toml").write_text(
        "[plugins.smart_context]\nenabled = true\nrelevance = 'plain'\nrecent_messages = 0\n"
        "keep_pairs = false\n"
    )
    store = FileChats(vault / ".memory")
    messages = [{"id": f"m{n}", "role": "user", "content": t} for n, t in enumerate(TEXTS)]
    await store.save("c", {"messages": messages, "topics": [{"label": "cats", "count": 2}]})
    await store.close()
    return "c"


async def test_no_event_is_older_than_the_one_before_it(served, chat):
    embedder = GatedEmbedder("cats")
    async with served(embedder=embedder) as running:
        slow = asyncio.create_task(running.call("set_filter", chat_id=chat, topics=["cats"]))
        await until(lambda: any("cats" in texts for texts in embedder.asked))
        last = await running.call("set_filter", chat_id=chat, topics=[])
        embedder.gate.set()
        first = await slow
        told = running.named("smart_context.filter_changed")
        assert [event["active_topics"] for event in told] == [[]] * len(told)
        assert [len(event["message_ids"]) for event in told] == [6] * len(told)
        assert told
        assert first == last


class BrokenEmbedder(ScriptedEmbedder):
    async def embed(self, texts):
        raise RuntimeError("a fault of the program")


async def test_hidden_messages_stay_out_even_if_the_filter_fails(served, chat):
    async with served() as running:
        await running.call("hide", chat_id=chat, message_ids=["m1"])
        await running.call("set_filter", chat_id=chat, topics=["cats"])
    async with served(embedder=BrokenEmbedder()) as running:
        await running.call("chat.send", chat_id=chat, message="Hello")
        await until(lambda: running.named("chat.finished"))
        said = str(running.model.asked[0].messages)
        assert TEXTS[0] in said
        assert TEXTS[1] not in said


async def test_a_message_that_comes_while_the_filter_decides_is_in_the_event(served, chat):
    embedder = GatedEmbedder("cats")
    async with served(embedder=embedder) as running:
        slow = asyncio.create_task(running.call("set_filter", chat_id=chat, topics=["cats"]))
        await until(lambda: any("cats" in texts for texts in embedder.asked))
        more = {"id": "m9", "role": "user", "content": "cats again"}
        await running.host.services.storage.chats.update(
            chat, lambda document: document["messages"].append(more)
        )
        embedder.gate.set()
        shown = await slow
        assert shown["message_ids"] == ["m0", "m1", "m9"]
        told = running.named("smart_context.filter_changed")
        assert all(event["total_messages"] == 7 for event in told)


async def test_what_another_process_chooses_is_told_and_kept(served, chat):
    async with served() as one, served() as other:
        await one.call("get_topics", chat_id=chat)
        await other.call("set_filter", chat_id=chat, topics=["cats"])
        await until(
            lambda: any(
                event["active_topics"] == ["cats"]
                for event in one.named("smart_context.filter_changed")
            )
        )
        await one.call("pin", chat_id=chat, message_ids=["m5"])
        shown = await other.call("get_topics", chat_id=chat)
        assert (shown["active_topics"], shown["pinned"]) == (["cats"], ["m5"])
        assert shown["message_ids"] == ["m0", "m1", "m5"]


async def test_a_step_back_keeps_what_another_process_chose_since(served, chat):
    async with served() as one, served() as other:
        await one.call("set_filter", chat_id=chat, topics=["cats"])
        await other.call("pin", chat_id=chat, message_ids=["m5"])
        shown = await one.call("undo", chat_id=chat)
        assert (shown["active_topics"], shown["pinned"]) == ([], ["m5"])
        assert (shown["undone"], shown["left"]) == ("the filter", 0)


async def test_the_same_topics_in_another_order_change_nothing_and_are_no_step(served, chat):
    async with served() as running:
        await running.call("set_filter", chat_id=chat, topics=["cats", "boats"])
        again = await running.call("set_filter", chat_id=chat, topics=["boats", "cats"])
        assert again["active_topics"] == ["cats", "boats"]
        assert (again["undo_steps"], again["undo_words"]) == (1, "cats and boats picked")
        undone = await running.call("undo", chat_id=chat)
        assert (undone["active_topics"], undone["left"]) == ([], 0)


async def test_others_have_their_turn_between_the_steps_of_a_decision(served, chat, monkeypatch):
    turns, steps = 0, []

    async def others():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    def noted(work):
        def step(*args, **named):
            steps.append(turns)
            return work(*args, **named)

        return step

    for module, name in (
        (selector, "with_pinned_restored"),
        (selector, "select_messages"),
        (chat_filter, "filter_result"),
    ):
        monkeypatch.setattr(module, name, noted(getattr(module, name)))
    async with served() as running:
        beside = asyncio.create_task(others())
        await running.call("get_topics", chat_id=chat)
        beside.cancel()
        assert len(set(steps)) == len(steps) == 3


async def test_very_many_topics_are_read_beside_the_event_loop(served, chat, monkeypatch):
    threads = set()

    def noted(work):
        def read(*args):
            threads.add(threading.current_thread())
            return work(*args)

        return read

    async with served() as running:
        topics = [{"label": f"t{number}", "count": 1} for number in range(6_000)]
        await running.host.services.storage.chats.update(
            chat, lambda document: document.update(topics=topics)
        )
        monkeypatch.setattr(Version, "others", noted(Version.others))
        monkeypatch.setattr(chat_filter, "not_counting", noted(chat_filter.not_counting))
        with one_request():
            for _ in range(2):
                shown = await running.call("get_topics", chat_id=chat)
        assert shown["status"].endswith("500 of 6,000 topics")
        assert threads
        assert threading.main_thread() not in threads


async def test_words_that_fail_stop_no_choice(served, chat, monkeypatch):
    def fail(*_):
        raise KeyError("words")

    for place in (
        "smart_context.plugin.choices.undo._change_in_words",
        "smart_context.plugin.topics.editing.difference_in_words",
        "smart_context.plugin.selection.status_line._status",
        "smart_context.relevance.reasons.Reason._about",
    ):
        monkeypatch.setattr(place, property(fail) if place.endswith("_about") else fail)
    async with served() as running:
        picked = await running.call("set_filter", chat_id=chat, topics=["cats"])
        assert picked["status"] == f"{len(picked['message_ids'])} of 6 messages in context"
        assert picked["undo_words"] == "Last choice"
        await running.call("chat.send", chat_id=chat, message="More?")
        receipt = await running.call("receipt", chat_id=chat)
        shown = await running.call("preview", chat_id=chat)
        for row in (*receipt["messages"], *shown["messages"]):
            assert row["reason"] == row["short"] == row["kind"]
        undone = await running.call("undo", chat_id=chat)
        assert (undone["active_topics"], undone["undone"]) == ([], "the last choice")


async def test_a_deleted_chat_has_no_choices_and_nothing_to_take_back(served, chat):
    async with served() as running:
        await running.call("set_filter", chat_id=chat, topics=["cats"])
        await running.call("memory.delete_chat", chat_id=chat)
        shown = await running.call("get_topics", chat_id=chat)
        assert (shown["active_topics"], shown["undo_steps"]) == ([], 0)
        assert (await running.call("undo", chat_id=chat))["undone"] == ""
        await running.call("memory.restore_chat", chat_id=chat)
        assert (await running.call("get_topics", chat_id=chat))["active_topics"] == ["cats"]


async def test_a_draft_about_another_topic_than_the_picked_one_is_off_the_pick(vault, served):
    found = {"Boats": "q1 a1 q2 a2 q3 a3 q5 a5", "Knots": "q4 a4 q6 a6 q7 a7"}
    write_boats_and_knots(vault, "c", **found)
    async with served() as running:

        async def said(draft):
            shown = await running.call("suggest_topics", chat_id="c", message=draft)
            return shown["off_pick"], shown["elsewhere"]

        assert await said(DRAFT) == (False, None)
        await running.call("set_filter", chat_id="c", topics=["Knots"])
        assert await said(DRAFT) == (True, {"id": "t-Boats", "label": "Boats", "count": 8})
        assert await said(KNOTS) == (False, None)
        assert await said("Thanks!") == (False, None)
        await running.call("set_filter", chat_id="c", topics=["Knots", "Boats"])
        assert await said(DRAFT) == (False, None)
        await running.call("set_filter", chat_id="c", topics=["Typed"])
        assert await said(DRAFT) == (False, None)  # nothing tells what the typed one is like
        await running.call("set_filter", chat_id="c", topics=["Knots"])
        await running.call("hide", chat_id="c", message_ids=found["Boats"].split())
        assert await said(DRAFT) == (False, None)  # nothing of a muted topic can be sent


@pytest.mark.parametrize(
    ("threshold", "sent"),
    [
        pytest.param(0.4, {"q1", "a1", "q2", "a2", "q3", "a3"}, id="as a rule"),
        pytest.param(0.25, {"q1", "a1", "q2", "a2", "q3", "a3", "q5", "a5"}, id="wide"),
    ],
)
async def test_what_is_in_no_topic_goes_with_no_bubble_unless_a_wide_one(
    vault, served, threshold, sent
):
    (vault / ".vault.toml").write_text(
        f"[plugins.smart_context]\nrecent_messages = 0\nsimilarity_threshold = {threshold}\n"
    )
    write_boats_and_knots(vault, "c", Boats="q1 a1 q2 a2 q3 a3", Knots="q4 a4 q6 a6 q7 a7")
    async with served() as running:
        shown = await running.call("set_filter", chat_id="c", topics=["Boats"])
        rows = (await running.call("preview", chat_id="c", message="And?"))["messages"]
    assert set(shown["message_ids"]) == sent
    if "q5" not in sent:
        why = {row["id"]: (row["kind"], row["reason"], row["numbers"]) for row in rows}
        assert why["q5"] == why["a5"] == ("unplaced", "out: in no topic", "")


async def test_what_is_too_old_to_be_grouped_is_sent_as_far_as_it_is_close(
    vault, served, monkeypatch
):
    write_boats_and_knots(vault, "c", Boats="q2 a2", Knots="q4 a4 q6 a6 q7 a7")
    monkeypatch.setattr(selector, "MOST_GROUPED", 10)
    async with served() as running:
        shown = await running.call("set_filter", chat_id="c", topics=["Boats"])
    assert {"q1", "a1", "q2", "a2"} <= set(shown["message_ids"])
    assert not {"q3", "q5"} & set(shown["message_ids"])


async def test_a_typed_topic_finds_what_is_in_no_topic(vault, served):
    write_boats_and_knots(vault, "c", Knots="q4 a4 q6 a6 q7 a7")
    async with served() as running:
        shown = await running.call("set_filter", chat_id="c", topics=["boats in the harbour"])
    assert {"q1", "a1", "q2", "a2"} <= set(shown["message_ids"])


async def test_what_no_extraction_has_read_yet_is_sent_as_far_as_it_is_close(vault, served):
    write_boats_and_knots(vault, "c", Boats="q2 a2", Knots="q4 a4")
    path = vault / ".memory" / "c.topics.json"
    path.write_text(path.read_text().replace('"seen": "a7"', '"seen": "a2"'))
    async with served() as running:
        shown = await running.call("set_filter", chat_id="c", topics=["Boats"])
    assert {"q3", "a3"} <= set(shown["message_ids"])
    assert "q1" not in shown["message_ids"]
