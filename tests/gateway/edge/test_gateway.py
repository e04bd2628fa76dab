"""Clients of the API, over HTTP, with a fake provider behind the server."""

import base64
import json
import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from smart_context.gateway.answers.gathered import BodyGatherer, StreamGatherer
from tests.fake_openai import Reply, failure, held
from tests.gateway.asking import ApiClient, provided_vault
from tests.gateway.saying import assistant, system, user
from tests.patience import PATIENCE_S
from tests.serving import serving
from tests.vaults import KEY

ANSWER = "The keeper lit the lamp at dusk and kept it burning until dawn."


@pytest.fixture
def client(server):
    return ApiClient(server)


def last(provider):
    """The newest request that a client caused; a filter may embed texts in the background."""
    return [r for r in provider.requests if r.body.get("model") != "text-embedding-3-small"][-1]


# What is sent on, and what comes back


@pytest.mark.parametrize("is_stream", [False, True])
def test_a_body_goes_on_byte_for_byte(client, provider, is_stream):
    body = (
        '{ "model":"gpt-4o", "temperature":1e0, "x_unknown":123456789012345678901234567890,\n'
        '"temperature" :0.50, '
        '"messages":[ {"role":"user","content":"caf\\u00e9","name":"Zo\\u00eb","x":[1.50]} ],'
        f'"stream":{str(is_stream).lower()} }}'
    ).encode()
    client.request("POST", "/v1/chat/completions", body)
    assert last(provider).raw == body


def test_the_provider_gets_its_own_key_and_no_cookie(client, provider):
    client.chat(user("hi"), headers={"Cookie": "a=b", "X-Api-Key": "mine"})
    sent = last(provider).headers
    assert sent["authorization"] == "Bearer secret-key-123"
    assert not {"cookie", "x-api-key", "x-smart-context-chat"} & sent.keys()


STREAM = (
    b": a comment\r\n\r\n"
    b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"Hi"}}],"x":1e0}\r\n\r\n'
    b'event: extra\ndata: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}\n\n'
)


@pytest.mark.parametrize("ending", [b"data: [DONE]\n\n", b"", b'data: {"half'])
def test_a_stream_comes_back_byte_for_byte(client, provider, ending):
    provider.reply_with(Reply(body=STREAM + ending, content_type="text/event-stream"))
    answer = client.chat(user("hi"), stream=True)
    assert answer.raw == STREAM + ending


def test_a_json_answer_comes_back_byte_for_byte(client, provider):
    body = b'{ "choices":[{"index":0,"message":{"role":"assistant","content":"a"}}], "x":1e0 }\n'
    provider.reply_with(Reply(body=body, headers={"X-Request-Id": "r1"}))
    answer = client.chat(user("hi"))
    assert answer.raw == body
    assert answer.headers["x-request-id"] == "r1"


def test_the_first_piece_comes_before_the_last_is_there(server, provider):
    gate = threading.Event()
    provider.reply_with(held("one two three", gate, after=1))
    with socket.create_connection((ApiClient(server).address.hostname, server_port(server))) as raw:
        raw.settimeout(PATIENCE_S)
        raw.sendall(http_request(server, {"messages": [user("hi")], "stream": True}))
        seen = b""
        while b'"one"' not in seen:
            seen += raw.recv(65536)
        assert not gate.is_set()
        gate.set()


def test_a_chat_that_is_opened_while_its_client_is_answered_is_left_alone(client, server, provider):
    gate = threading.Event()
    provider.reply_with(held("one two three", gate, after=1))
    named = {"X-Smart-Context-Chat": "looked-at"}
    with ThreadPoolExecutor(1) as asking:
        answered = asking.submit(client.chat, user("Count"), headers=named, stream=True)
        begun = stored_when(server, "looked-at", lambda m: len(m) > 1)
        assert begun[-1]["generating"]
        for command in ("chat.open", "memory.load_chat"):
            server.ask(command, chat_id="looked-at")
            assert server.ask("memory.load_chat", chat_id="looked-at")["messages"][1:] == begun[1:]
        gate.set()
        answered.result(PATIENCE_S)
    whole = stored_when(server, "looked-at", lambda m: not m[-1].get("generating"))
    assert "error" not in whole[-1]


def test_a_client_that_goes_away_ends_the_providers_request(server, provider):
    gate = threading.Event()
    before = provider.hung_up
    provider.reply_with(held("one two three", gate, after=1))
    body = {"messages": [user("Tell me of the sea")], "stream": True}
    with socket.create_connection((ApiClient(server).address.hostname, server_port(server))) as raw:
        raw.settimeout(PATIENCE_S)
        raw.sendall(http_request(server, body, "X-Smart-Context-Chat: gone-away"))
        seen = b""
        while b'"one"' not in seen:
            seen += raw.recv(65536)
    provider.wait_for_hang_up(before + 1)
    stored = stored_when(server, "gone-away", lambda m: not m[-1].get("generating"))
    assert stored[-1]["stopped"] is True
    assert stored[-1]["content"] == "one"


def test_an_answer_is_seen_on_the_page_while_it_comes(server, provider):
    gate = threading.Event()
    provider.reply_with(held("one two three", gate, after=1))
    with server.connect() as wire:
        chat = {"X-Smart-Context-Chat": "watched"}
        asked = threading.Thread(
            target=ApiClient(server).chat,
            args=[user("Count")],
            kwargs={"headers": chat, "stream": True},
        )
        asked.start()
        started = wire.wait_for("chat.started", chat_id="watched")
        told = wire.wait_for("chat.token", chat_id="watched")
        gate.set()
        finished = wire.wait_for("chat.finished", chat_id="watched")
        asked.join(PATIENCE_S)
    assert (told["text"], told["message_id"]) == ("one", started["message_id"])
    assert finished["message_ids"][1] == started["message_id"]


@pytest.mark.parametrize("asks", ["a page", "a client"])
def test_pages_hear_of_the_end_when_answer_and_receipt_are_kept(client, server, asks):
    chat = f"ends-for-{asks[2:]}"
    with server.connect() as wire:
        if asks == "a page":
            wire.call("chat.send", chat_id=chat, message="Hi")
        else:
            client.chat(user("Hi"), headers={"X-Smart-Context-Chat": chat}, stream=True)
        wire.wait_for("chat.finished", chat_id=chat)
        told = [name for name, params in wire.events if params.get("chat_id") == chat]
        stored = server.ask("memory.load_chat", chat_id=chat)["messages"]
    kept = [told.index(name) for name in ("chat.started", "smart_context.receipt_kept")]
    assert kept == sorted(kept)
    assert kept[-1] < told.index("chat.finished")
    assert not stored[-1].get("generating")


def server_port(server):
    return ApiClient(server).address.port


def http_request(server, body, *more):
    raw = json.dumps({"model": "gpt-4o", **body}).encode()
    client = ApiClient(server)
    lines = [
        "POST /v1/chat/completions HTTP/1.1",
        f"Host: {client.address.netloc}",
        f"Authorization: Bearer {client.key}",
        "Content-Type: application/json",
        f"Content-Length: {len(raw)}",
        *more,
    ]
    return "\r\n".join([*lines, "", ""]).encode() + raw


def stored_when(server, chat, ready):
    """The messages of a chat once it is as it should be."""
    with server.connect() as wire:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            messages = wire.call("memory.load_chat", chat_id=chat)["messages"]
            if messages and ready(messages):
                return messages
    raise AssertionError(messages)


# Access


@pytest.mark.parametrize("key", ["", "wrong", "sc-unknown"])
def test_a_wrong_key_opens_nothing(server, key):
    answer = ApiClient(server, key).chat(user("hi"))
    assert answer.status == 401
    assert answer.json["error"]["code"] == "invalid_api_key"


def test_a_page_of_another_site_may_ask_with_a_key(client):
    asked = "authorization,x-stainless-os,x-anything"
    headers = {"Origin": "app://obsidian.md", "Access_Control_Request_Headers": asked}
    preflight = ApiClient.request(client, "OPTIONS", "/v1/chat/completions", **headers)
    assert preflight.status == 204
    assert preflight.headers["access-control-allow-headers"] == asked
    assert "access-control-allow-credentials" not in preflight.headers
    answer = client.chat(user("hi"), headers={"Origin": "app://obsidian.md"})
    assert answer.status == 200
    assert answer.headers["access-control-allow-origin"] == "*"


def test_another_host_name_is_refused(client):
    assert client.chat(user("hi"), headers={"Host": "evil.example"}).status == 403


# Errors


def test_a_refusal_of_the_provider_comes_back_as_it_is(client, provider):
    refusal = failure(429, "slow down", retry_after="120")
    provider.reply_with(refusal)
    answer = client.chat(user("hi"))
    assert answer.status == 429
    assert answer.headers["retry-after"] == "120"
    assert answer.json["error"]["message"] == "slow down"


def test_a_failing_provider_is_asked_again_before_the_first_byte(client, provider):
    provider.reply_with(failure(503, retry_after="0"), failure(503, retry_after="0"), ANSWER)
    assert client.chat(user("hi")).text == ANSWER


def test_a_redirect_is_not_followed(client, provider):
    elsewhere = {"Location": "http://127.0.0.1:1/v1/chat/completions"}
    provider.reply_with(Reply(status=307, headers=elsewhere))
    answer = client.chat(user("hi"))
    assert answer.status == 502
    assert "another address" in answer.json["error"]["message"]


@pytest.mark.parametrize("headers", [{}, {"Location": "http://[x"}])
def test_a_redirect_to_nowhere_is_not_passed_on(client, provider, headers):
    provider.reply_with(Reply(status=302, headers=headers))
    answer = client.chat(user("hi"))
    assert answer.status == 502
    assert "refused the request with status 302" in answer.json["error"]["message"]


def test_a_connection_that_breaks_in_mid_stream_ends_with_an_error(client, provider):
    provider.reply_with(Reply(text="one two three", cut_after=1))
    answer = client.chat(user("hi"), stream=True)
    *_, error = [line for line in answer.raw.split(b"\n\n") if line]
    assert json.loads(error.removeprefix(b"data: "))["error"]["code"] == "provider_unreachable"


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("chat/completions", b"{", None),
        ("chat/completions", b'{"model":"m"}', "messages"),
        ("chat/completions", b'{"messages":"hi"}', "messages"),
        ("chat/completions", b'{"messages":[5]}', "messages[0]"),
        ("responses", b'{"input":5}', "input"),
    ],
)
def test_a_body_that_makes_no_sense_is_refused(client, path, body, param):
    answer = client.request("POST", f"/v1/{path}", body)
    assert answer.status == 400
    assert answer.json["error"]["type"] == "invalid_request_error"
    assert answer.json["error"]["param"] == param


def test_a_large_body_is_taken(client, provider):
    body = json.dumps({"model": "m", "messages": [user("x" * (9 << 20))]}).encode()
    assert client.request("POST", "/v1/chat/completions", body).status == 200
    assert last(provider).raw == body


def test_what_is_not_there_says_so_in_the_apis_words(client):
    assert client.request("GET", "/v1/nothing").json["error"]["code"] == "unknown_url"
    assert client.request("GET", "/v1/chat/completions").status == 405


# Which chat


def test_a_chat_is_known_by_the_answers_that_it_got(client, provider, server):
    provider.reply_with(ANSWER)
    first = client.chat(system("s"), user("Who lit the lamp?"))
    client.chat(user("Something else"))
    second = client.chat(
        system("s"), user("Who lit the lamp?"), assistant(ANSWER), user("And then?")
    )
    assert second.chat == first.chat
    document = server.ask("memory.load_chat", chat_id=first.chat)
    assert document["title"] == "Who lit the lamp?"
    assert document["source"]["key"] == "token"
    assert [m["role"] for m in document["messages"]] == [
        "system",
        *("user", "assistant", "user", "assistant"),
    ]
    assert (second.headers["x-smart-context-in"], second.headers["x-smart-context-out"]) == (
        "4",
        "4",
    )


def test_a_named_chat_is_made_and_a_bad_name_is_refused(client):
    assert client.chat(user("hi"), headers={"X-Smart-Context-Chat": "mine"}).chat == "mine"
    refused = client.chat(user("hi"), headers={"X-Smart-Context-Chat": "../x"})
    assert refused.status == 400


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("reason", "mark"), [("content_filter", "filtered"), ("length", "cut_off"), ("stop", None)]
)
def test_a_clients_chat_says_how_an_answer_ended_early(
    client, provider, server, reason, mark, stream
):
    chat = f"early-{reason}-{stream}"
    provider.reply_with(Reply(text="Half an", finish_reason=reason))
    client.chat(user("Go on"), stream=stream, headers={"X-Smart-Context-Chat": chat})
    answer = server.ask("memory.load_chat", chat_id=chat)["messages"][-1]
    assert [key for key in ("filtered", "cut_off", "stopped") if answer.get(key)] == [
        *([mark] if mark else [])
    ]


def test_an_aside_goes_on_and_never_enters_the_chat(client, provider, server):
    named = {"X-OpenWebUI-Chat-Id": "web-ui-1"}
    task = user("### Task:\nSuggest a title")
    aside = client.chat(task, headers=named)
    turn = client.chat(user("Hello web"), headers=named)
    assert aside.chat == turn.chat
    messages = server.ask("memory.load_chat", chat_id=turn.chat)["messages"]
    assert messages[0]["content"] == "Hello web"
    assert "x-smart-context-chat" not in client.chat(task).headers


# Models and embeddings


def test_models_are_the_providers(client, provider):
    assert [m["id"] for m in client.request("GET", "/v1/models").json["data"]] == [*provider.models]


def test_embeddings_go_to_the_embedding_models_endpoint(client, provider):
    answer = client.request("POST", "/v1/embeddings", {"model": "other", "input": "text"})
    assert answer.status == 200
    assert last(provider).path == "/embeddings"
    assert last(provider).body == {"model": "other", "input": "text"}


# The vault's own chats, and none of a provider


def test_a_chat_of_the_vault_is_a_model(client, server, provider):
    server.ask("memory.save_chat", chat_id="own", data={"messages": [{"id": "a", **user("x")}]})
    provider.reply_with("An answer in our own chat")
    answer = client.chat(user("ignored"), assistant("ignored"), user("Go on"), model="chat:own")
    assert answer.text == "An answer in our own chat"
    texts = [m["content"] for m in server.ask("memory.load_chat", chat_id="own")["messages"]]
    assert texts == ["x", "Go on", "An answer in our own chat"]
    assert client.chat(user("x"), model="chat:nobody").status == 404


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("reason", ["content_filter", "length", "stop"])
def test_an_answer_in_a_chat_of_the_vault_says_how_it_ended(
    client, server, provider, reason, stream
):
    chat = f"ended-{reason}-{stream}"
    server.ask("memory.save_chat", chat_id=chat, data={"messages": [{"id": "a", **user("x")}]})
    provider.reply_with(Reply(text="Half an", finish_reason=reason))
    answer = client.chat(user("Go on"), model=f"chat:{chat}", stream=stream)
    gathered = StreamGatherer() if stream else BodyGatherer()
    gathered.feed(answer.raw)
    gathered.close()
    assert f'"finish_reason": "{reason}"'.encode() in answer.raw
    assert gathered.answer.first.text == "Half an"


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_in_a_chat_of_the_vault_names_its_receipt(client, server, provider, stream):
    messages = [{"id": "a", **user("x")}, {"id": "b", **assistant("y")}]
    server.ask("memory.save_chat", chat_id="receipts", data={"messages": messages})
    provider.reply_with("An answer")
    headers = client.chat(user("Go on"), model="chat:receipts", stream=stream).headers
    sent = next(r for r in reversed(provider.chat_requests) if r.body["model"] == "gpt-4o")
    counts = (headers["x-smart-context-in"], headers["x-smart-context-out"])
    assert counts == ("1", str(len(sent.messages)))
    turn = headers["x-smart-context-receipt"]
    assert server.ask("smart_context.receipt", chat_id="receipts", turn=turn)["turn"] == turn


@pytest.mark.parametrize("stream", [False, True])
def test_a_chat_of_the_vault_that_is_being_answered_is_to_be_asked_later(
    client, server, provider, stream
):
    server.ask("memory.save_chat", chat_id="busy", data={"messages": [{"id": "a", **user("x")}]})
    gate = threading.Event()
    provider.reply_with(held("one two", gate, after=1))
    with server.connect() as page:
        answered = page.start("chat.send", chat_id="busy", message="First", stream=True)
        page.wait_for("chat.token", chat_id="busy")
        refused = client.chat(user("Second"), model="chat:busy", stream=stream)
        gate.set()
        assert "result" in answered()
    assert (refused.status, refused.json["error"]["type"]) == (429, "rate_limit_error")
    assert "still being answered" in refused.json["error"]["message"]


@pytest.mark.parametrize("content", ["", " ", None, [], [{"type": "text"}]])
def test_a_chat_of_the_vault_is_not_asked_nothing(client, server, content):
    server.ask("memory.save_chat", chat_id="mute", data={"messages": [{"id": "a", **user("x")}]})
    answer = client.chat({"role": "user", "content": content}, model="chat:mute")
    error = answer.json["error"]
    assert (answer.status, error["param"]) == (400, "messages")
    assert error["message"] == "There is no user message to answer."


def test_a_provider_without_responses_is_explained(client):
    answer = client.respond("hi")
    assert answer.status == 404
    assert "chat completions" in answer.json["error"]["message"]


def test_responses_are_relayed(client, provider):
    body = {"id": "resp_9", "object": "response", "status": "completed", "output": []}
    provider.reply_with(Reply(body=json.dumps(body).encode()), path="/responses/resp_9")
    assert client.request("GET", "/v1/responses/resp_9").json == body


@pytest.fixture(scope="module")
def offline(tmp_path_factory):
    def settings(_text):
        return "[plugins.smart_context]\nenabled = true\n"

    with provided_vault(tmp_path_factory.mktemp("offline"), settings=settings) as (server, _):
        (server.vault / "lamp.md").write_text("# Lamp\nThe lamp is lit at dusk.", encoding="utf-8")
        yield ApiClient(server)


def test_without_a_provider_the_embedded_responder_answers(offline):
    answer = offline.chat(user("When is the lamp lit?"))
    assert answer.json["object"] == "chat.completion"
    assert "No chat model is configured" in answer.text
    streamed = offline.chat(
        user("When is the lamp lit?"), stream=True, stream_options={"include_usage": True}
    )
    assert streamed.raw.endswith(b"data: [DONE]\n\n")
    assert b'"usage"' in streamed.raw
    response = offline.respond("When is the lamp lit?")
    assert response.json["output"][0]["content"][0]["type"] == "output_text"


def test_without_a_provider_there_is_one_model(offline):
    assert [m["id"] for m in offline.request("GET", "/v1/models").json["data"]] == [
        "embedded/passages"
    ]


def test_without_a_provider_texts_are_embedded_here(offline):
    plain = offline.request("POST", "/v1/embeddings", {"input": ["a b", "c"]}).json["data"]
    packed = offline.request(
        "POST", "/v1/embeddings", {"input": "a b", "encoding_format": "base64"}
    ).json["data"]
    raw = base64.b64decode(packed[0]["embedding"])
    assert len(plain) == 2
    assert list(struct.unpack(f"<{len(raw) // 4}f", raw)) == pytest.approx(plain[0]["embedding"])
    refused = offline.request("POST", "/v1/embeddings", {"input": [[1, 2]]})
    assert (refused.status, refused.json["error"]["param"]) == (400, "input")


def test_a_restart_keeps_the_part_of_an_answer_and_what_is_known_of_chats(tmp_path):
    gate = threading.Event()
    with provided_vault(tmp_path) as (server, provider):
        provider.reply_with(ANSWER, held("one two three", gate, after=1))
        first = ApiClient(server).chat(user("Who lit the lamp?")).chat
        raw = socket.create_connection((ApiClient(server).address.hostname, server_port(server)))
        with raw:
            raw.settimeout(PATIENCE_S)
            body = {"messages": [user("Count")], "stream": True}
            raw.sendall(http_request(server, body, "X-Smart-Context-Chat: cut-short"))
            seen = b""
            while b'"one"' not in seen:
                seen += raw.recv(65536)
            assert server.stop() == 0
        stored = json.loads((server.vault / ".memory/cut-short.json").read_text("utf-8"))
        assert (stored["messages"][-1]["content"], stored["messages"][-1]["stopped"]) == (
            "one",
            True,
        )
        assert "generating" not in stored["messages"][-1]
        env = {**KEY, "XDG_CONFIG_HOME": str(tmp_path / "config")}
        with serving(server.vault, env=env) as again:
            asked = [user("Who lit the lamp?"), assistant(ANSWER), user("And then?")]
            assert ApiClient(again).chat(*asked).chat == first


# What the page shows of clients


def test_the_list_and_the_page_name_the_client(server, client):
    chat = client.chat(user("Hello page"), headers={"User-Agent": "opencode/1.0"}).chat
    (row,) = [r for r in server.ask("memory.list_chats")["chats"] if r["id"] == chat]
    assert row["client"] == "opencode"
    status, page = server.request("GET", f"/chats/{chat}")
    assert status == 200
    assert "data-continue-here" in page
    assert "opencode" in page
    client.chat(user("Hello page"), headers={"X-Smart-Context-Chat": chat})
    assert "Other versions (1)" in server.request("GET", f"/chats/{chat}")[1]


def test_a_clients_chat_is_continued_in_a_copy(server, client):
    chat = client.chat(system("s"), user("Hello copy")).chat
    made = server.ask("memory.copy_chat", chat_id=chat)["chat_id"]
    copy = server.ask("memory.load_chat", chat_id=made)
    assert "source" not in copy
    assert copy["continued_from"] == chat
    assert [m["content"] for m in copy["messages"][:2]] == ["s", "Hello copy"]
    assert "data-continue-here" not in server.request("GET", f"/chats/{made}")[1]


def test_a_client_gets_a_key_and_loses_it(server, client):
    key = server.ask("system.new_client_key", client="opencode")["key"]
    held = ApiClient(server, key)
    assert held.chat(user("hi"), headers={"User-Agent": "opencode/1.0"}).status == 200
    assert held.request("POST", "/api/commands/memory.list_chats", {}).status == 401
    shown = server.ask("system.clients")
    assert "opencode" in shown["keys"]
    assert ("opencode", "opencode") in [(c["key"], c["client"]) for c in shown["clients"]]
    server.ask("system.revoke_client_key", client="opencode")
    deadline = time.monotonic() + PATIENCE_S
    while held.chat(user("hi")).status == 200:
        assert time.monotonic() < deadline
    assert server.request("GET", "/clients")[0] == 200


def test_two_keys_never_share_a_chat_by_answers(server, client, provider):
    other = ApiClient(server, server.ask("system.new_client_key", client="other")["key"])
    provider.reply_with(ANSWER)
    first = client.chat(user("Who lit the lamp, again?"))
    asked = [user("Who lit the lamp, again?"), assistant(ANSWER), user("And then?")]
    assert other.chat(*asked).chat != first.chat
    assert client.chat(*asked).chat == first.chat
