"""The filter from end to end: pick topics, send, and look at what the endpoint received."""

import json
import threading

import pytest

from tests.fake_openai import EMBEDDINGS, FOR_TOPICS, failure, held
from tests.serving import serving
from tests.vaults import KEY, about, read_chat, write_chat

MIXED = about(
    "cats purr when they sleep",
    "cats sleep all day",
    "boats need new sails",
    "boats sail in the wind",
    "please be brief and answer in French",
    "d'accord",
)
TOPICS = [
    {"label": "cats sleep", "count": 2},
    {"label": "boats sail", "count": 2},
    {"label": "Instructions & Preferences", "sticky": True, "message_ids": ["m4"], "count": 1},
]


@pytest.fixture
def chat(server):
    write_chat(server.vault, "mixed", MIXED, topics=TOPICS, colour="kept")
    return "mixed"


def sent(endpoint):
    """The contents of the last chat request that was not an extraction."""
    requests = [r for r in endpoint.chat_requests if r.body["model"] == "gpt-4o"]
    return [message["content"] for message in requests[-1].messages]


@pytest.mark.parametrize("stream", [True, False])
def test_the_model_receives_exactly_the_messages_that_are_shown_as_in_context(
    server, client, endpoint, chat, stream
):
    shown = client.call("smart_context.set_filter", chat_id=chat, topics=["cats sleep"])
    assert shown["active_topics"] == ["cats sleep"]
    assert shown["total_messages"] == 6
    assert not shown["fell_back"]
    assert shown["message_ids"] == ["m0", "m1", "m4"]

    client.call("chat.send", chat_id=chat, message="and kittens?", stream=stream)

    contents = {m["id"]: m["content"] for m in MIXED}
    expected = [contents[message_id] for message_id in shown["message_ids"]]
    assert sent(endpoint) == [*expected, "and kittens?"]
    request = next(r for r in endpoint.chat_requests if r.body["model"] == "gpt-4o")
    assert bool(request.body.get("stream")) is stream


def test_the_filter_survives_the_answer_and_a_restart(configured, endpoint):
    vault = configured()
    write_chat(vault, "mixed", MIXED, topics=TOPICS)
    with serving(vault, env=KEY) as server, server.connect() as client:
        client.call("smart_context.set_filter", chat_id="mixed", topics=["boats sail"])
        client.call("chat.send", chat_id="mixed", message="one more")
        assert client.call("smart_context.get_topics", chat_id="mixed")["active_topics"] == [
            "boats sail"
        ]
    with serving(vault, env=KEY) as server, server.connect() as client:
        state = client.call("smart_context.get_topics", chat_id="mixed")
        assert state["active_topics"] == ["boats sail"]


def test_nothing_that_matches_means_everything_is_sent_and_it_is_said(client, endpoint, chat):
    shown = client.call("smart_context.set_filter", chat_id=chat, topics=["quantum physics"])
    assert shown["fell_back"]
    assert shown["message_ids"] == [m["id"] for m in MIXED]
    client.call("chat.send", chat_id=chat, message="hello")
    assert sent(endpoint) == [*(m["content"] for m in MIXED), "hello"]


def test_switching_similarity_off_clears_the_selection_and_sends_everything(client, endpoint, chat):
    client.call("smart_context.set_filter", chat_id=chat, topics=["cats sleep"])
    switched = client.call("smart_context.set_similarity_mode", chat_id=chat, enabled=False)
    assert switched["embedding_search"] is False
    assert switched["active_topics"] == []
    client.call("chat.send", chat_id=chat, message="hello")
    assert sent(endpoint) == [*(m["content"] for m in MIXED), "hello"]


def test_pins_and_hides_are_sent_as_they_are_shown(client, endpoint, chat):
    client.call("smart_context.set_filter", chat_id=chat, topics=["cats sleep"])
    client.call("smart_context.pin", chat_id=chat, message_ids=["m3"])
    shown = client.call("smart_context.hide", chat_id=chat, message_ids=["m0"])
    assert shown["message_ids"] == ["m1", "m3", "m4"]
    client.call("chat.send", chat_id=chat, message="hello")
    contents = {m["id"]: m["content"] for m in MIXED}
    assert sent(endpoint) == [contents["m1"], contents["m3"], contents["m4"], "hello"]
    client.call("smart_context.release", chat_id=chat, message_ids=["m3"])
    released = client.call("smart_context.release", chat_id=chat, message_ids=["m0"])
    assert released["message_ids"][:3] == ["m0", "m1", "m4"]


def test_a_failing_embedder_sends_everything_and_the_turn_works(client, endpoint, chat):
    endpoint.reply_with(*[failure(500)] * 60, path=EMBEDDINGS)
    shown = client.call("smart_context.set_filter", chat_id=chat, topics=["cats sleep"])
    assert shown["message_ids"] == [m["id"] for m in MIXED]
    assert shown["problem"]
    client.call("chat.send", chat_id=chat, message="hello")
    assert sent(endpoint) == [*(m["content"] for m in MIXED), "hello"]


def test_nothing_is_sent_while_the_choices_of_a_chat_can_not_be_read(
    server, client, endpoint, chat
):
    (server.vault / ".memory" / f"{chat}.filter.json").write_bytes(b'{"hidden": ["m1"]')
    shown = client.call("smart_context.get_topics", chat_id=chat)
    assert "can't be read" in shown["problem"]
    refused = client.fail("smart_context.preview", chat_id=chat, message="hello")
    assert "Nothing is sent until you choose again" in refused["message"]
    client.call("chat.send", chat_id=chat, message="hello")
    assert not [r for r in endpoint.chat_requests if r.body["model"] == "gpt-4o"]
    notice = read_chat(server.vault, chat)["messages"][-1]["content"][0]
    assert "Nothing is sent until you choose again" in notice["text"]

    chosen = client.call("smart_context.hide", chat_id=chat, message_ids=["m1"])
    assert chosen["problem"] == ""
    client.call("chat.send", chat_id=chat, message="hello again")
    assert MIXED[1]["content"] not in sent(endpoint)
    assert MIXED[0]["content"] in sent(endpoint)


def test_an_unknown_chat_has_no_topics_and_no_messages(client):
    state = client.call("smart_context.get_topics", chat_id="never-seen")
    assert state["topics"] == []
    assert state["total_messages"] == 0


def test_the_chat_last_opened_is_meant_when_none_is_named(client, chat):
    client.call("chat.open", chat_id=chat)
    assert client.call("smart_context.get_topics")["total_messages"] == 6


def test_every_client_hears_of_a_new_selection(server, client, chat):
    with server.connect() as other:
        client.call("smart_context.set_filter", chat_id=chat, topics=["cats sleep"])
        heard = other.wait_for("smart_context.filter_changed", active_topics=["cats sleep"])
    assert heard["chat_id"] == chat
    assert heard["message_ids"] == ["m0", "m1", "m4"]
    assert heard["total_messages"] == 6
    assert heard["fell_back"] is False


def test_only_new_messages_are_embedded_and_the_file_has_the_contracts_form(
    client, endpoint, chat, server
):
    client.call("smart_context.set_filter", chat_id=chat, topics=["cats sleep"])

    def embedded():
        return [text for r in endpoint.embedding_requests for text in r.body["input"]]

    first = embedded()
    assert sorted(first) == sorted({*(m["content"] for m in MIXED), "cats sleep"})
    client.call("smart_context.set_filter", chat_id=chat, topics=["cats sleep", "boats sail"])
    assert embedded()[len(first) :] == ["boats sail"]

    cache = json.loads((server.vault / ".memory" / "mixed.embeddings.json").read_text())
    assert set(cache) >= {"version", "model", "dimensions", "vectors"}
    assert {key.partition(":")[0] for key in cache["vectors"]} == {m["id"] for m in MIXED}


def test_topics_are_found_after_an_answer_named_by_the_fast_model_and_stored(
    client, endpoint, chat, server
):
    def named(body):
        groups = body["messages"][-1]["content"].split("Group ")[1:]
        given = ["Napping Cats" if "cats" in lines else "Sailing Boats" for lines in groups]
        names = {str(n): name for n, name in enumerate(given, 1)}
        return f"```json\n{json.dumps(names)}\n```"

    endpoint.reply_with(named, path=FOR_TOPICS)
    client.call("chat.send", chat_id=chat, message="hello")
    client.wait_for("smart_context.extraction", state="done")
    updated = client.wait_for("smart_context.topics_updated")
    stored = read_chat(server.vault, chat)
    assert updated["topics"] == stored["topics"]
    assert stored["colour"] == "kept"
    counts = {t["label"]: t["count"] for t in stored["topics"] if not t.get("sticky")}
    assert counts["Napping Cats"] >= 2
    sticky = next(t for t in stored["topics"] if t.get("sticky"))
    assert "m4" in sticky["message_ids"]
    (asked,) = endpoint.topics_requests
    assert asked.body["model"] == "gpt-4o-mini"
    assert "cats sleep day" in asked.messages[-1]["content"]
    assert not any(m["id"] in json.dumps(asked.messages) for m in MIXED)


def test_a_reply_that_makes_no_sense_leaves_the_topics_and_says_why(client, endpoint, chat, server):
    endpoint.reply_with("I would rather not.", path=FOR_TOPICS)
    client.call("chat.send", chat_id=chat, message="hello")
    failed = client.wait_for("smart_context.extraction", state="failed")
    assert failed["reason"]
    assert read_chat(server.vault, chat)["topics"] == TOPICS


def test_a_newer_turn_supersedes_an_older_extraction(client, endpoint, chat, server):
    gate = threading.Event()

    def script(body):
        asked_twice = "hammocks" in json.dumps(body["messages"])
        label = "Fresh Cats" if asked_twice else "Old Cats"
        reply = json.dumps({str(n): f"{label} {n}" for n in range(1, 9)})
        return reply if asked_twice else held(reply, gate)

    endpoint.reply_with(script, script, path=FOR_TOPICS)
    client.call("chat.send", chat_id=chat, message="do cats purr on boats?")
    endpoint.wait_for_requests(1, path=FOR_TOPICS)
    client.call("chat.send", chat_id=chat, message="do cats sleep in hammocks?")
    client.wait_for("smart_context.extraction", state="superseded")
    client.wait_for("smart_context.extraction", state="done")
    gate.set()
    labels = json.dumps(read_chat(server.vault, chat)["topics"])
    assert "Fresh Cats" in labels
    assert "Old Cats" not in labels


def test_a_failed_turn_starts_no_extraction(client, endpoint, chat):
    endpoint.reply_with(failure(401))
    error = client.fail("chat.send", chat_id=chat, message="hello")
    assert error["code"] == -32603
    client.wait_for("chat.failed")
    client.call("chat.send", chat_id=chat, message="again")
    client.wait_for("smart_context.extraction", state="running")
    runs = [p for name, p in client.events if name == "smart_context.extraction"]
    assert sum(p["state"] == "running" for p in runs) == 1
