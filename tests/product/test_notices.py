"""Notices of the program in place of an answer are marked, and no model ever gets one."""

import json

import pytest

from tests.fake_openai import FakeOpenAI
from tests.gateway.asking import ApiClient
from tests.gateway.saying import assistant, user
from tests.serving import serving
from tests.vaults import read_chat, settings_text

NOTICE = "This vault names an endpoint that you have not trusted"
QUESTION = "When do cats sleep in winter?"
QUOTED = "Cats sleep long, near the stove"
KEPT = "a notice of the program"


@pytest.fixture
def endpoint():
    with FakeOpenAI() as fake:
        yield fake


@pytest.fixture
def server(vault, endpoint, tmp_path):
    """A vault that became trusted after two questions in it were answered with notices."""
    (vault / "Cats.md").write_text("# Cats\n\nCats sleep long, near the stove, in winter.\n")
    (vault / ".vault.toml").write_text(settings_text(endpoint.base_url, recent_messages="2"))
    env = {"TEST_KEY_NAME": "value", "XDG_CONFIG_HOME": str(tmp_path / "config")}
    with serving(vault, env=env, trusted=False) as running:
        for question in (QUESTION, f"{QUESTION} And why?"):
            running.ask("chat.send", chat_id="c", message=question, stream=False)
        reviewed = running.ask("system.trust")
        running.ask("system.grant_trust", digest=reviewed["digest"])
        yield running


@pytest.fixture
def client(server):
    with server.connect() as wire:
        yield wire


def notices(server, chat_id="c"):
    return [m["id"] for m in read_chat(server.vault, chat_id)["messages"] if m.get("extracted")]


def told(endpoint):
    """All that the endpoint was ever sent, embeddings too."""
    return json.dumps([request.body for request in endpoint.requests], ensure_ascii=False)


def test_no_request_has_a_notice_whatever_asks(server, client, endpoint):
    assert len(notices(server)) == 2
    shown = client.call("smart_context.preview", chat_id="c", message="Go on")
    client.call("chat.send", chat_id="c", message="Go on")
    sent = [m["content"] for m in endpoint.chat_requests[0].messages]
    assert sent == [QUESTION, f"{QUESTION} And why?", "Go on"]
    assert [m["content"] for m in shown["prompt"]] == sent
    receipt = client.call("smart_context.receipt", chat_id="c")
    assert receipt["parts"] == shown["parts"]
    out = [row for row in receipt["messages"] if not row["in"]]
    assert [row["id"] for row in out] == notices(server)
    assert {row["reason"] for row in out} == {f"out: {KEPT}"}

    client.call("chat.regenerate", chat_id="c", message_id=receipt["answer"])
    client.call("smart_context.refresh_topics", chat_id="c", wait=True)
    topic = client.call("smart_context.get_topics", chat_id="c")["topics"]
    client.call("smart_context.set_filter", chat_id="c", topics=[t["label"] for t in topic[:1]])
    client.call("smart_context.pin", chat_id="c", message_ids=notices(server))
    client.call("chat.send", chat_id="c", message="More")
    for text in ("A long story of boats. " * 60, "Shorter, please."):
        endpoint.reply_with("Boats.")
        client.call("chat.send", chat_id="c", message=text)
    endpoint.reply_with(json.dumps({"overview": "About boats."}))
    client.call("chat.compact", chat_id="c")
    client.call("chat.send", chat_id="c", message="And now?")
    assert NOTICE not in told(endpoint)
    assert QUOTED not in told(endpoint)


def test_the_status_counts_messages_and_no_notices(client):
    topics = client.call("smart_context.get_topics", chat_id="c")
    assert topics["status"] == "All messages in context"


def test_an_old_answer_again_takes_the_place_of_its_notice(server, client, endpoint):
    client.call("chat.regenerate", chat_id="c", message_id=notices(server)[0])
    assert [m["content"] for m in endpoint.chat_requests[0].messages] == [QUESTION]
    answer = client.call("memory.load_chat", chat_id="c")["messages"][1]
    assert "extracted" not in answer


def test_a_clients_list_stays_as_the_client_sends_it(server, client, endpoint):
    said = [user("Hello"), assistant(f"{NOTICE}, and more."), user("Again")]
    ApiClient(server).chat(*said, headers={"X-Smart-Context-Chat": "mine"})
    asked = next(r for r in endpoint.chat_requests if r.body["model"] == "gpt-4o")
    assert asked.messages == said
