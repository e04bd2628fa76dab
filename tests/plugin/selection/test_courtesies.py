"""A courtesy is about nothing: it belongs to the exchange that it follows, or to no topic."""

import json

import pytest

from smart_context.llm.offline.embedded import EmbeddedEmbedder
from smart_context.topics.stored import to_assignments
from smart_context.topics.values import Topic
from tests.vaults import about, write_chat

pytestmark = pytest.mark.anyio

SAID = (
    *("hello", "Hello! How can I help you?"),
    *("How do I keep a sourdough starter alive?", "Feed it once a day with flour and water."),
    *("Thanks!", "You're welcome! Happy baking."),
    *("What's a good hotel in Lisbon?", "Memmo Alfama is small and quiet."),
    *("谢谢", "不客气！"),
    *("Danke schön!", "Gern geschehen!"),
    *("Is there a train from Lisbon to Sintra?", "Every half hour, from Rossio."),
)
BREAD, LISBON = range(2, 6), range(6, 14)


async def reasons(running, *picked):
    await running.call("set_filter", chat_id="c", topics=[*picked])
    shown = await running.call("preview", chat_id="c", message="And?")
    return {row["id"]: row["reason"] for row in shown["messages"]}


async def test_a_courtesy_is_in_only_with_the_exchange_that_it_follows(vault, served):
    found = [
        Topic(label=label, count=len(places), id=label, message_ids=tuple(f"m{n}" for n in places))
        for label, places in (("Bread", BREAD), ("Lisbon", LISBON))
    ]
    public = [{"label": t.label, "count": t.count, "id": t.id} for t in found]
    path = write_chat(vault, "c", about(*SAID), topics=public)
    path.with_suffix(".topics.json").write_text(json.dumps(to_assignments(found, seen="m13")))
    async with served(embedder=EmbeddedEmbedder(), embedded=True) as running:
        bread, lisbon = await reasons(running, "Bread"), await reasons(running, "Lisbon")
    for greeting in ("m0", "m1"):
        assert bread[greeting] == lisbon[greeting] == "out: in no topic"
    for thanks in ("m4", "m5"):
        assert bread[thanks] == "in: belongs to Bread"
        assert lisbon[thanks] == "out: about Bread, which is not picked"
    for thanks in ("m8", "m9", "m10", "m11"):
        assert lisbon[thanks] == "in: belongs to Lisbon"
        assert bread[thanks] == "out: about Lisbon, which is not picked"
