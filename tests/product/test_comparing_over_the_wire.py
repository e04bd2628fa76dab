"""A question asked twice, under two sets of choices: over the wire, with a fake endpoint."""

import threading

import pytest

from smart_context.plugin.receipts import comparing
from tests.fake_openai import failure, held
from tests.vaults import about, read_chat, write_chat

CHAT = "animals"
CATS, BOATS = "cats purr sleep", "boats sail wind"
TOPICS = [{"label": CATS, "count": 2}, {"label": BOATS, "count": 2}]


@pytest.fixture
def chat(server, endpoint):
    messages = about(f"{CATS} a", f"{CATS} b", f"{BOATS} c", f"{BOATS} d")
    write_chat(server.vault, CHAT, messages, topics=TOPICS)
    endpoint.answer = lambda body: f"Read {len(body['messages'])}: {body['model']}"
    return CHAT


def chat_requests(endpoint):
    """Without those that find topics."""
    return [each for each in endpoint.chat_requests if each.body.get("stream")]


def compare(client, **params):
    return client.call("smart_context.compare", chat_id=CHAT, **params)


def pick(client, *labels):
    client.call("smart_context.set_filter", chat_id=CHAT, topics=list(labels))


def test_a_question_is_asked_with_the_picks_and_with_everything(server, client, endpoint, chat):
    pick(client, BOATS)
    before = read_chat(server.vault, CHAT)
    found = compare(client, message="how deep?")
    assert found["left"]["text"] == "Read 3: gpt-4o"
    assert found["right"]["text"] == "Read 5: gpt-4o"
    assert (found["only_left"], found["only_right"]) == ([], ["m0", "m1"])
    for side in ("left", "right"):
        receipt = found[side]["receipt"]
        assert found[side]["sent"] == receipt["tokens"] == receipt["cost"]["sent"]
        assert found[side]["seconds"] >= 0
        assert "error" not in found[side]
        assert receipt["prompt"] in [each.messages for each in chat_requests(endpoint)]
        pieces = [
            event
            for name, event in client.events
            if name == "smart_context.comparison" and event["side"] == side
        ]
        assert "".join(event["text"] for event in pieces) == found[side]["text"]
        assert {event["comparison_id"] for event in pieces} == {found["comparison_id"]}
    assert read_chat(server.vault, CHAT) == before
    assert client.call("smart_context.receipts", chat_id=CHAT)["receipts"] == []


def test_what_is_sent_is_what_a_preview_shows(client, endpoint, chat):
    pick(client, CATS)
    shown = client.call("smart_context.preview", chat_id=CHAT, message="why?")
    found = compare(client, message="why?", topics=[BOATS], model="fast")
    assert found["left"]["receipt"]["prompt"] == shown["prompt"]
    assert found["right"]["text"] == "Read 3: gpt-4o-mini"
    assert found["only_left"] == ["m0", "m1"]
    assert found["only_right"] == ["m2", "m3"]


def test_a_kept_answer_comes_with_its_question_and_receipt(server, client, chat):
    pick(client, BOATS)
    found = compare(client, message="how deep?")
    kept = client.call(
        "smart_context.keep_answer", comparison_id=found["comparison_id"], side="right"
    )
    question, answer = read_chat(server.vault, CHAT)["messages"][4:]
    assert [question["id"], answer["id"]] == kept["message_ids"]
    assert (question["content"], answer["content"]) == ("how deep?", "Read 5: gpt-4o")
    receipt = client.call("smart_context.receipt", chat_id=CHAT, turn=answer["id"])
    assert receipt["prompt"] == found["right"]["receipt"]["prompt"]
    # The other one becomes a version of it.
    client.call("smart_context.keep_answer", comparison_id=found["comparison_id"], side="left")
    messages = read_chat(server.vault, CHAT)["messages"]
    assert [each["content"] for each in messages[4:]] == ["how deep?", "Read 3: gpt-4o"]
    versions = client.call("chat.list_versions", chat_id=CHAT)["versions"]
    assert [each["versions"] for each in versions] == [2]


def test_a_deleted_chat_stays_deleted_and_can_be_restored_as_it_was(server, client, endpoint, chat):
    found = compare(client, message="how deep?")
    client.call("memory.delete_chat", chat_id=CHAT)
    asked = len(endpoint.requests)
    keep = {"comparison_id": found["comparison_id"], "side": "right"}
    for refused in (
        client.fail("smart_context.keep_answer", **keep),
        client.fail("smart_context.compare", chat_id=CHAT, message="how deep?"),
        client.fail("smart_context.compare", chat_id="never-there", message="how deep?"),
    ):
        assert "There is no chat" in refused["message"]
    assert len(endpoint.requests) == asked
    assert not list((server.vault / ".memory").glob(f"{CHAT}.*"))
    client.call("memory.restore_chat", chat_id=CHAT)
    client.call("smart_context.keep_answer", **keep)
    assert len(read_chat(server.vault, CHAT)["messages"]) == 6


def test_the_stored_answer_of_a_turn_serves(server, client, endpoint, chat):
    pick(client, BOATS)
    client.call("chat.send", chat_id=CHAT, message="how deep?")
    client.wait_for("smart_context.extraction", state="failed")
    asked = len(chat_requests(endpoint))
    turn = client.call("smart_context.receipts", chat_id=CHAT)["receipts"][0]["turn"]
    found = compare(client, turn=turn, topics=[])
    assert len(chat_requests(endpoint)) == asked + 1
    assert found["left"]["text"] == "Read 3: gpt-4o"
    assert found["left"]["receipt"]["turn"] == turn
    assert found["right"]["text"] == "Read 5: gpt-4o"
    assert found["only_right"] == ["m0", "m1"]
    client.call("smart_context.keep_answer", comparison_id=found["comparison_id"], side="right")
    shown = read_chat(server.vault, CHAT)["messages"]
    assert [each["content"] for each in shown[4:]] == ["how deep?", "Read 5: gpt-4o"]
    client.call("smart_context.keep_answer", comparison_id=found["comparison_id"], side="left")
    shown = read_chat(server.vault, CHAT)["messages"]
    assert [each["content"] for each in shown[4:]] == ["how deep?", "Read 3: gpt-4o"]


def test_a_role_that_does_not_exist_is_refused_before_anything_is_asked(client, endpoint, chat):
    reason = client.fail("smart_context.compare", chat_id=CHAT, message="why?", role="nobody")
    assert "no role 'nobody'" in reason["message"]
    assert chat_requests(endpoint) == []


def test_a_side_that_fails_does_not_take_the_other_with_it(client, endpoint, chat):
    pick(client, BOATS)
    endpoint.answer = lambda body: (
        failure(400, "too much") if len(body["messages"]) == 5 else "Well."
    )
    found = compare(client, message="how deep?")
    assert found["left"]["text"] == "Well."
    assert "too much" in found["right"]["error"]
    assert found["right"]["text"] == ""
    reason = client.fail(
        "smart_context.keep_answer", comparison_id=found["comparison_id"], side="right"
    )
    assert "no right answer" in reason["message"]


def test_stop_ends_both_and_what_arrived_can_be_kept(server, client, endpoint, chat):
    gate = threading.Event()
    endpoint.answer = lambda _: held("The first words and the rest", gate, after=2)
    waiting = client.start(
        "smart_context.compare", chat_id=CHAT, message="how deep?", topics=[CATS]
    )
    for side in ("left", "right"):
        client.wait_for("smart_context.comparison", side=side, text=" first")
    assert client.call("chat.stop", chat_id=CHAT)["stopped"]
    found = waiting()["result"]
    gate.set()
    assert found["left"]["text"] == found["right"]["text"] == "The first"
    assert found["left"]["stopped"]
    client.call("smart_context.keep_answer", comparison_id=found["comparison_id"], side="left")
    answer = read_chat(server.vault, CHAT)["messages"][-1]
    assert (answer["content"], answer["stopped"]) == ("The first", True)
    assert not client.call("chat.stop", chat_id=CHAT)["stopped"]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"message": " "}, "expected some text"),
        ({"message": "a", "turn": "b"}, "found both"),
        ({"message": "a", "model": "elsewhere/x" * 200}, "No connected endpoint"),
        ({"message": "a", "threshold": 7}, "from -1 to 1"),
        ({}, "no receipts"),
    ],
)
def test_what_can_not_be_compared_is_said(client, chat, wrong, words):
    assert words in client.fail("smart_context.compare", chat_id=CHAT, **wrong)["message"]


def test_an_unknown_comparison_is_said_to_be_over(client, chat):
    reason = client.fail("smart_context.keep_answer", comparison_id="none", side="left")
    assert "over" in reason["message"]
    assert comparing.KEPT_S == 3600
