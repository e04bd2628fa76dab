"""The same request again, over HTTP: what stays current when the repeat brings nothing."""

import socket
import threading

import pytest

from tests.fake_openai import Reply, failure, held
from tests.gateway.asking import ApiClient
from tests.gateway.edge.test_gateway import http_request, server_port
from tests.gateway.saying import assistant, user
from tests.marked_thoughts import MARKED_THOUGHTS, SAID, THOUGHT, in_pieces
from tests.patience import PATIENCE_S


@pytest.fixture
def client(server):
    return ApiClient(server)


def document(server, chat):
    return server.ask("memory.load_chat", chat_id=chat)


def answered(client, provider, chat):
    provider.reply_with("The keeper lit it.")
    client.chat(user("Who lit the lamp?"), headers={"X-Smart-Context-Chat": chat})
    return [("user", "Who lit the lamp?"), ("assistant", "The keeper lit it.")]


def said(stored):
    return [(message["role"], message["content"]) for message in stored["messages"]]


@pytest.mark.parametrize("retries", ["0", "1"])
def test_a_refused_repeat_leaves_the_delivered_answer_current(client, server, provider, retries):
    chat = f"refused-{retries}"
    before = answered(client, provider, chat)
    provider.reply_with(failure(400, "no"))
    again = {"X-Smart-Context-Chat": chat, "X-Stainless-Retry-Count": retries}
    repeat = client.chat(user("Who lit the lamp?"), headers=again)
    assert repeat.status == 400
    stored = document(server, chat)
    assert said(stored) == before
    assert "branches" not in stored
    receipt = server.ask("smart_context.receipt", chat_id=chat, turn=repeat.receipt)
    assert receipt["outcome"] == "failed"
    more = [user("Who lit the lamp?"), assistant("The keeper lit it."), user("When?")]
    client.chat(*more, headers={"X-Smart-Context-Chat": chat})
    assert said(document(server, chat))[:2] == before


def test_a_repeat_that_the_client_left_leaves_the_delivered_answer_current(
    client, server, provider
):
    before = answered(client, provider, "left")
    gate = threading.Event()
    gone = provider.hung_up
    provider.reply_with(held("one two three", gate))
    asked = len(provider.chat_requests)
    body = {"messages": [user("Who lit the lamp?")], "stream": True}
    with server.connect() as wire:
        with socket.create_connection((client.address.hostname, server_port(server))) as raw:
            raw.settimeout(PATIENCE_S)
            raw.sendall(http_request(server, body, "X-Smart-Context-Chat: left"))
            started = wire.wait_for("chat.started", chat_id="left")
            provider.wait_for_requests(asked + 1)
        provider.wait_for_hang_up(gone + 1)
        wire.wait_for("chat.finished", chat_id="left")
    gate.set()
    stored = document(server, "left")
    assert said(stored) == before
    assert "branches" not in stored
    assert started["message_id"] not in [message["id"] for message in stored["messages"]]


def test_a_question_whose_end_the_client_strips_is_stored_once(client, server, provider):
    reminder = "\n\nAnswer with SEARCH/REPLACE blocks, and nothing else!"
    chat = {"X-Smart-Context-Chat": "stripped"}
    sent = []
    for question in ("Fix the lamp.", "Fix the bell.", "Fix the boat."):
        answer = client.chat(*sent, user(question + reminder), headers=chat).text
        sent += [user(question), assistant(answer)]
    stored = document(server, "stripped")
    texts = [m["content"].removesuffix(reminder) for m in stored["messages"][::2]]
    assert texts == ["Fix the lamp.", "Fix the bell.", "Fix the boat."]
    assert len(stored["messages"]) == 6
    assert "branches" not in stored


def test_a_first_question_of_an_older_chat_founds_a_new_one(client):
    older = client.chat(user("What is the tide?"))
    client.chat(user("What is the moon?"))
    assert client.chat(user("What is the tide?")).chat != older.chat


@pytest.mark.parametrize("thought", [(), ("Let me see",)])
def test_of_a_stopped_answer_the_chat_holds_what_the_client_kept(client, server, provider, thought):
    chat = f"stopped-{len(thought)}"
    gate = threading.Event()
    gone = provider.hung_up
    provider.reply_with(
        Reply(text="one two three", reasoning=thought, gate=gate, hold_after=2 + len(thought))
    )
    body = {"messages": [user("Count")], "stream": True}
    with server.connect() as wire:
        with socket.create_connection((client.address.hostname, server_port(server))) as raw:
            raw.settimeout(PATIENCE_S)
            raw.sendall(http_request(server, body, f"X-Smart-Context-Chat: {chat}"))
            seen = b""
            while b'" two"' not in seen:
                seen += raw.recv(65536)
        provider.wait_for_hang_up(gone + 1)
        wire.wait_for("chat.finished", chat_id=chat)
    gate.set()
    sent = [user("Count"), assistant("one"), user("Go on")]
    client.chat(*sent, headers={"X-Smart-Context-Chat": chat})
    stored = document(server, chat)
    parts = [{"type": "reasoning", "text": "Let me see"}, {"type": "text", "text": "one"}]
    assert stored["messages"][1]["content"] == (parts if thought else "one")
    assert [m["role"] for m in stored["messages"]] == ["user", "assistant"] * 2
    assert "branches" not in stored


@pytest.mark.parametrize("keeps", ["Ask the keeper.\n</think>\n\nThe keeper.", "The keeper."])
@pytest.mark.parametrize("stream", [False, True])
def test_thoughts_in_an_answer_are_passed_on_and_stored_apart(
    client, server, provider, keeps, stream
):
    chat = f"thoughts-{len(keeps)}-{stream}"
    told = "Ask the keeper.\n</think>\n\nThe keeper."
    provider.reply_with(told)
    known = {"X-Smart-Context-Chat": chat}
    client.chat(user("Who?"), headers=known, stream=stream)
    client.chat(user("Who?"), assistant(keeps), user("When?"), headers=known)
    stored = document(server, chat)
    thought = {"type": "reasoning", "text": "Ask the keeper."}
    assert said(stored)[1] == ("assistant", [thought, {"type": "text", "text": "The keeper."}])
    assert [m["role"] for m in stored["messages"]] == ["user", "assistant"] * 2
    assert "branches" not in stored
    assert provider.chat_requests[-1].messages[1] == assistant(keeps)


def test_no_thought_is_in_the_chats_answer_or_goes_back_however_a_model_marks_it(
    client, server, provider
):
    known = {"X-Smart-Context-Chat": "marked"}
    sent = []
    for number, spelled in enumerate(MARKED_THOUGHTS.values()):
        provider.reply_with(Reply(pieces=in_pieces(spelled)))
        sent.append(user(f"What is two and two, for the {number}th time?"))
        assert client.chat(*sent, headers=known, stream=True).status == 200
        thought, said = document(server, "marked")["messages"][-1]["content"]
        assert (thought["type"], thought["text"].strip()) == ("reasoning", THOUGHT)
        assert said == {"type": "text", "text": SAID}
        sent.append(assistant(SAID))
    client.chat(user("And then?"), model="chat:marked")
    going = [message["content"] for message in provider.chat_requests[-1].messages]
    assert going.count(SAID) == len(MARKED_THOUGHTS)
    assert THOUGHT not in "".join(going)


def test_a_providers_cookies_are_neither_kept_nor_passed(client, provider):
    provider.reply_with(Reply(text="Hi", headers={"Set-Cookie": "who=you; Path=/"}))
    answer = client.chat(user("hi"))
    assert "set-cookie" not in answer.headers
    client.chat(user("hi again"))
    assert "cookie" not in provider.chat_requests[-1].headers
