import json
from dataclasses import replace

import pytest

from smart_context.base.errors import ModelFailed
from smart_context.chat.messages import Message
from smart_context.llm.models import Completion
from smart_context.topics.extraction import ExtractionFailed, LlmTopicExtractor
from smart_context.topics.values import MOST_READ, Extraction, Previous, Topic

pytestmark = pytest.mark.anyio

MESSAGES = [
    Message(id="m1", role="user", content="Always answer in French."),
    Message(id="m2", role="user", content="How do I prune apple trees?"),
    Message(id="m3", role="assistant", content="Prune apple trees in winter."),
]
REPLY = {
    "topics": [{"label": "Apple Trees", "count": 2, "message_ids": ["m2", "m3"]}],
    "sticky_message_ids": ["m1"],
}


class Model:
    name = "fast-model"

    def __init__(self, reply):
        self.reply = reply
        self.requests = []

    async def complete(self, messages, *, tools=(), json_reply=False):
        self.requests.append((messages, json_reply))
        if isinstance(self.reply, Exception):
            raise self.reply
        return Completion(text=self.reply)


async def test_one_request_for_json_gives_topics_members_keywords_and_sticky_ids():
    model = Model(json.dumps(REPLY))
    found = await LlmTopicExtractor(model).extract(
        MESSAGES, previous=Previous(topics=(Topic(label="Fruit", count=1),))
    )
    (topic,) = found.topics
    assert (topic.label, topic.count, topic.message_ids) == ("Apple Trees", 2, ("m2", "m3"))
    assert {"prune", "apple", "trees"} <= set(topic.keywords)
    assert found.sticky_ids == ("m1",)
    ((messages, json_reply),) = model.requests
    assert json_reply
    assert all(m.id in messages[-1]["content"] for m in MESSAGES)
    assert "Fruit" in messages[-1]["content"]


async def test_what_follows_the_beginning_of_a_huge_message_gives_no_keywords():
    beginning = "prune " * (MOST_READ // 6)
    huge = replace(MESSAGES[2], content=f"{beginning.ljust(MOST_READ)} zebra")
    found = await LlmTopicExtractor(Model(json.dumps(REPLY))).extract([MESSAGES[0], huge])
    assert found.topics[0].keywords == ("prune",)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        pytest.param("no", "fast-model gave no list of topics .found “no”.", id="talk"),
        pytest.param(ModelFailed("refused"), "fast-model did not answer: refused", id="no answer"),
    ],
)
async def test_a_failure_has_a_reason_for_people(reply, reason):
    with pytest.raises(ExtractionFailed, match=reason) as failure:
        await LlmTopicExtractor(Model(reply)).extract(MESSAGES)
    assert failure.value.reason == str(failure.value)


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param([], id="no messages"),
        pytest.param([replace(MESSAGES[0], content="  ")], id="nothing said"),
    ],
)
async def test_a_chat_without_text_has_no_topics_and_asks_nobody(messages):
    model = Model("")
    assert await LlmTopicExtractor(model).extract(messages) == Extraction()
    assert model.requests == []
