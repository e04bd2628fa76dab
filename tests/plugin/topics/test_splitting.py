"""Which messages are a topic's own when it is split off or summed up."""

import pytest

from smart_context.chat.messages import Message
from smart_context.plugin.choices.message_topics import MessageTopics, TopicName
from smart_context.plugin.choices.sidecars import ChatSidecar
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.selection.decision import ChatView
from smart_context.plugin.topics.splitting import named_topics
from smart_context.topics.values import Topic

pytestmark = pytest.mark.anyio

MESSAGES = tuple(Message(id=f"m{n}", role="user", content=f"bread {n}") for n in range(4))
BREAD = Topic(label="Bread", count=2, message_ids=("m0", "m1"), id="b")


async def test_what_was_said_under_a_topic_is_its_own_before_an_extraction_has_placed_it():
    said = MessageTopics().say(["m2", "m3"], [TopicName("b", "Bread")])
    view = ChatView(
        chat_id="c",
        messages=MESSAGES,
        history=MESSAGES,
        topics=({"label": "Bread", "id": "b", "count": 2},),
        sidecar=ChatSidecar(state=FilterState().with_messages(said), topics=(BREAD,)),
    )
    named = await named_topics(view, None, ["Bread"])
    assert named.ids == {"m0", "m1", "m2", "m3"}
