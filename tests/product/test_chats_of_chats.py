"""Topics get a chat of their own, and chats go on from a message in another one."""

import json

import pytest

from tests.product.test_topics_summed_up import asked, sum_up, topics_of
from tests.vaults import read_chat, write_chat

CALL = {"type": "tool_call", "state": "call", "tool_call_id": "1", "tool_name": "read"}
FILE = {"id": "f", "name": "a.txt", "file_type": "text/plain", "storage_key": ""}
STICKY = {"label": "Instructions & Preferences", "sticky": True, "message_ids": ["m0"], "count": 1}


def said(name, role, content, **more):
    at = f"2026-03-0{int(name[1:]) % 9 + 1}T10:00:00Z"
    return {"id": name, "role": role, "content": content, "created_at": at, **more}


@pytest.fixture
def chat(server):
    key = server.request("POST", "/api/files", b"Rye 65 %", {"X-File-Name": "a.txt"})
    file = {**FILE, "storage_key": key["storage_key"]} if isinstance(key, dict) else None
    messages = [
        said("m0", "user", "Answer in verse"),
        said("m1", "assistant", "Gladly"),
        said("m2", "user", "How is rye bread baked?", **({"files": [file]} if file else {})),
        said("m3", "assistant", [CALL]),
        said("m4", "tool", "At 240 degrees", tool_call_id="1"),
        said("m5", "assistant", "At 240 degrees, with love"),
        said("m6", "user", "Which boats are fast?"),
        said("m7", "assistant", "Those with two sails, and bread aboard"),
        said("m8", "user", "Thanks"),
    ]
    write_chat(server.vault, "c", messages)
    ids = {"Bread": ["m3", "m5", "m7"], "Boats": ["m6", "m7"]}
    public = topics_of(server.vault, "c", **ids)
    others = {"title": "Old", "instructions": "Be kind"}
    write_chat(server.vault, "c", messages, topics=[*public, STICKY], **others)
    return server.vault


def texts(document):
    return [entry["content"] for entry in document["messages"]]


def split(client, *topics, **more):
    return client.call("smart_context.split", chat_id="c", topics=[*topics], **more)


def test_a_topic_gets_a_chat_with_all_that_belongs_to_its_messages(chat, client):
    client.call("smart_context.pin", chat_id="c", message_ids=["m5"])
    before = read_chat(chat, "c")
    made = split(client, "Bread", title="Of bread")
    new = read_chat(chat, made["chat_id"])
    places = [0, 2, 3, 4, 5, 6, 7]
    assert texts(new) == [texts(before)[place] for place in places]
    assert made["messages"] == len(places)
    for copy, place in zip(new["messages"], places, strict=True):
        original = before["messages"][place]
        assert copy["id"] != original["id"]
        assert {**copy, "id": ""} == {**original, "id": ""}
    assert (new["title"], new["instructions"]) == ("Of bread", "Be kind")
    shown = client.call("smart_context.get_topics", chat_id=made["chat_id"])
    by_label = {topic["label"]: topic for topic in shown["topics"]}
    assert by_label["Bread"]["id"] == "t-Bread"
    assert by_label["Bread"]["count"] == 3
    assert shown["sticky"] == [new["messages"][0]["id"]]
    assert shown["pinned"] == [new["messages"][4]["id"]]
    at = new["split_from"]["at"]
    assert new["split_from"] == {"chat_id": "c", "topics": ["Bread"], "at": at}
    splits = [{"chat_id": made["chat_id"], "topics": ["Bread"], "at": at}]
    assert read_chat(chat, "c") == {**before, "splits": splits}


def test_what_is_moved_is_hidden_until_that_is_undone(chat, client, endpoint):
    split(client, "Bread", move=True)
    hidden = client.call("smart_context.get_topics", chat_id="c")["hidden"]
    assert hidden == ["m2", "m3", "m4", "m5"]
    assert asked(client, endpoint, "And?")[2:5] == [
        "Gladly",
        "Which boats are fast?",
        "Those with two sails, and bread aboard",
    ]
    client.call("smart_context.undo", chat_id="c")
    assert client.call("smart_context.get_topics", chat_id="c")["hidden"] == []


def test_nothing_is_embedded_again(chat, client, endpoint):
    client.call("smart_context.set_filter", chat_id="c", topics=["Bread"])
    made = split(client, "Bread")
    forked = client.call("memory.fork", chat_id="c", message_id="m5")
    count = len(endpoint.embedding_requests)
    for chat_id in (made["chat_id"], forked["chat_id"]):
        client.call("smart_context.set_filter", chat_id=chat_id, topics=["Bread"])
    assert len(endpoint.embedding_requests) == count


def test_a_summary_goes_along_with_all_that_it_stands_for(chat, client, endpoint):
    sum_up(client, "Boats", "S", apply=True)
    made = split(client, "Boats")
    new = read_chat(chat, made["chat_id"])["messages"]
    summary = next(entry for entry in new if entry.get("is_summary"))
    named = {entry["id"]: entry["content"] for entry in new}
    assert [named[each] for each in summary["summarizes"]] == ["Which boats are fast?"]
    assert "Which boats are fast?" not in asked(client, endpoint, "And?", made["chat_id"])


def test_a_fork_has_all_up_to_a_message_and_picks_topics(chat, client, endpoint):
    before = read_chat(chat, "c")
    client.call("smart_context.hide", chat_id="c", message_ids=["m1"])
    made = client.call("memory.fork", chat_id="c", message_id="m3", topics=["Bread"])
    new = read_chat(chat, made["chat_id"])
    assert texts(new) == texts(before)[:5]
    assert made["messages"] == 5
    at = new["forked_from"]["at"]
    assert new["forked_from"] == {"chat_id": "c", "message_id": "m3", "at": at}
    shown = client.call("smart_context.get_topics", chat_id=made["chat_id"])
    assert shown["active_topics"] == ["Bread"]
    assert shown["hidden"] == ["m1"]
    assert [topic["label"] for topic in shown["topics"]] == ["Bread", STICKY["label"]]
    assert read_chat(chat, "c") == before


@pytest.mark.parametrize(
    ("command", "params", "words"),
    [
        pytest.param("smart_context.split", {"topics": ["Cars"]}, "no topic 'Cars'", id="a topic"),
        pytest.param("smart_context.split", {"topics": []}, "at least one", id="no topic"),
        pytest.param("memory.fork", {"message_id": "x"}, "'x' not found", id="a message"),
    ],
)
def test_what_is_not_there_is_named(chat, client, command, params, words):
    assert words in client.fail(command, chat_id="c", **params)["message"]


def test_a_chat_of_a_client_becomes_one_of_your_own(chat, client):
    source = {"client": "opencode", "id": "1", "key": "k"}
    document = read_chat(chat, "c")
    document["messages"][2]["cut"] = True
    write_chat(chat, "d", document["messages"], source=source, private=True)
    new = read_chat(chat, client.call("memory.fork", chat_id="d", message_id="m8")["chat_id"])
    assert "source" not in new
    assert new["private"] is True
    assert "cut" not in json.dumps(new["messages"])
