"""The same request again, over HTTP: what stays current when the repeat brings nothing."""

import socket
import threading

import pytest

from tests.fake_openai import failure, held
from tests.gateway.asking import ApiClient
from tests.gateway.edge.test_gateway import http_request, server_port
from tests.gateway.saying import assistant, user
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
