"""Chats with summaries go out as what was said, and come back as they were."""

import json

from smart_context.chat.exported import exported

SAID = [
    {"id": "m0", "role": "user", "content": "Of bread"},
    {"id": "m1", "role": "assistant", "content": "Rye"},
    {
        "id": "s",
        "role": "system",
        "content": "In short",
        "is_summary": True,
        "summarizes": ["m0", "m1"],
        "topics": ["Bread"],
    },
]
DOCUMENT = {"title": "T", "messages": SAID}


def test_messages_for_the_api_are_those_that_were_said():
    texts = [m["content"] for m in json.loads(exported("c", DOCUMENT, "openai"))["messages"]]
    assert texts == ["Of bread", "Rye"]


def test_a_summary_is_named_where_people_read_it():
    assert "> [!info] Summary\n> In short" in exported("c", DOCUMENT, "markdown")
    assert "<h2>Summary " in exported("c", DOCUMENT, "html")


def test_as_json_all_is_as_stored():
    assert json.loads(exported("c", DOCUMENT, "json")) == DOCUMENT
