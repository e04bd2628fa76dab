"""Topics that are kept up to date in the background."""

import pytest

from smart_context.chat.store import ChatStore
from smart_context.llm.offline.scripted import ScriptedChatModel

pytestmark = pytest.mark.anyio


async def test_the_first_extraction_of_a_chat_from_elsewhere_is_given_its_labels(vault, served):
    store = ChatStore(vault / ".memory")
    sticky = {"label": "Instructions & Preferences", "sticky": True, "message_ids": ["m"]}
    topics = [{"label": "Sailing Boats", "count": 1}, sticky]
    messages = [{"id": "m", "role": "user", "content": "Always sail."}]
    await store.save("c", {"messages": messages, "topics": topics})
    await store.close()
    fast = ScriptedChatModel(['{"topics": [{"label": "Knots", "count": 1}]}'] * 2)
    async with served(fast=fast) as running:
        await running.call("refresh_topics", chat_id="c", wait=True)
        await running.call("refresh_topics", chat_id="c", wait=True)
    first, second = ([m["content"] for m in asked.messages][-1] for asked in fast.asked)
    assert '["Sailing Boats"]' in first
    assert '["Knots"]' in second
