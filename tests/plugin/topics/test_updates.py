"""Topics that are kept up to date in the background."""

import asyncio
import json

import pytest

from smart_context.storage.files.chats import FileChats
from smart_context.topics.stored import to_assignments
from smart_context.topics.values import Topic
from tests.host.conftest import until
from tests.scripted import Scripted, ScriptedChatModel
from tests.vaults import about, write_chat

pytestmark = pytest.mark.anyio

HELLO = {"id": "m", "role": "user", "content": "Hello"}
KNOTS = '{"topics": [{"label": "Knots", "count": 1}]}'


async def test_the_first_extraction_of_a_chat_from_elsewhere_is_given_its_labels(vault, served):
    store = FileChats(vault / ".memory")
    sticky = {"label": "Instructions & Preferences", "sticky": True, "message_ids": ["m"]}
    topics = [{"label": "Sailing Boats", "count": 1}, sticky]
    messages = [{"id": "m", "role": "user", "content": "Always sail."}]
    await store.save("c", {"messages": messages, "topics": topics})
    await store.close()
    fast = ScriptedChatModel([KNOTS] * 2)
    async with served(fast=fast) as running:
        await running.call("refresh_topics", chat_id="c", wait=True)
        await running.call("refresh_topics", chat_id="c", wait=True)
    first, second = ([m["content"] for m in asked.messages][-1] for asked in fast.asked)
    assert '["Sailing Boats"]' in first
    assert '["Knots"]' in second


@pytest.mark.parametrize(
    "message", [pytest.param("Hello", id="deleted meanwhile"), pytest.param("", id="never there")]
)
async def test_an_extraction_makes_no_file_for_a_chat_that_is_not_there(vault, served, message):
    found = asyncio.Event()
    fast = ScriptedChatModel([Scripted(pieces=(KNOTS,), gate=found)])
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
    fast = ScriptedChatModel([Scripted(gate=asyncio.Event()), KNOTS])
    async with served(fast=fast) as running:
        await running.call("memory.save_chat", chat_id="c", data={"messages": [HELLO]})
        waiting = asyncio.create_task(running.call("refresh_topics", chat_id="c", wait=True))
        await until(lambda: fast.asked)
        newer = await running.call("refresh_topics", chat_id="c", wait=True)
        assert [topic["label"] for topic in newer["topics"]] == ["Knots"]
        assert (await waiting)["total_messages"] == 1


async def test_undoing_an_edit_keeps_what_an_extraction_has_found_since_then(vault, served):
    found = (
        '{"topics": [{"label": "Knots", "count": 1}, {"label": "%s"}], "sticky_message_ids": %s}'
    )
    fast = ScriptedChatModel([found % ("Ropes", "[]"), found % ("Masts", '["m"]')])
    async with served(fast=fast) as running:
        await running.call("memory.save_chat", chat_id="c", data={"messages": [HELLO]})
        await running.call("refresh_topics", chat_id="c", wait=True)
        await running.call("delete_topic", chat_id="c", label="Knots")
        await running.call("refresh_topics", chat_id="c", wait=True)
        undone = await running.call("undo", chat_id="c")
        labels = [topic["label"] for topic in undone["topics"]]
        assert labels == ["Masts", "Knots", "Instructions & Preferences"]
        assert undone["sticky"] == ["m"]
