"""One topic has one name in its chat, its map, the list of chats and the map of all chats."""

import pytest

from smart_context.llm.offline.embedded import EmbeddedEmbedder
from tests.vaults import BOATS, KNOTS, write_boats_and_knots

pytestmark = pytest.mark.anyio

FOUND = {"Boats": "q1 a1 q2 a2 q3 a3 q5 a5", "Knots": "q4 a4 q6 a6 q7 a7"}


async def names(running):
    """The name of each topic of the chat wherever it is shown, by its id."""
    panel = (await running.call("get_topics", chat_id="c"))["topics"]
    places = (await running.call("topic_map", chat_id="c"))["topics"]
    (row,) = (await running.call("memory.list_chats"))["chats"]
    atlas = await running.call("atlas", wait=True)
    of_all = {topic["label"] for topic in atlas["topics"]}
    shown = {topic["id"]: topic["label"] for topic in panel}
    assert {topic["id"]: topic["label"] for topic in places} == shown
    assert list(row["topics"]) == [*shown]
    assert of_all
    assert of_all <= set(shown.values())  # alike topics are one on the map
    return set(shown.values())


async def rename(running, label, new):
    await running.call("rename_topic", chat_id="c", label=label, new_label=new)


async def test_a_topic_has_one_name_everywhere(vault, served):
    write_boats_and_knots(vault, "c", **FOUND)
    async with served(embedder=EmbeddedEmbedder()) as running:
        assert await names(running) == {"Boats", "Knots"}
        await rename(running, "Knots", "Knots of Sailors")
        assert await names(running) == {"Boats", "Knots of Sailors"}
        await rename(running, "Knots of Sailors", "Knots")  # how the longer name begins
        assert await names(running) == {"Boats", "Knots"}
        await rename(running, "Knots", "Ropes")
        await running.call("chat.send", chat_id="c", message=KNOTS)
        await running.call("refresh_topics", chat_id="c", wait=True)
        assert await names(running) == {"Boats", "Ropes"}
    async with served(embedder=EmbeddedEmbedder()) as running:
        assert await names(running) == {"Boats", "Ropes"}
        both = {"labels": ["Boats", "Ropes"], "new_label": "At Sea"}
        await running.call("merge_topics", chat_id="c", **both)
        await running.call("chat.send", chat_id="c", message=BOATS)
        await running.call("refresh_topics", chat_id="c", wait=True)
        assert await names(running) == {"At Sea"}
        await running.call("undo", chat_id="c")
        assert await names(running) == {"Boats", "Ropes"}
