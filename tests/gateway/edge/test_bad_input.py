"""Bad bodies, bad clients and bad providers: a clear answer, and nothing is lost."""

import base64
import gzip
import http.client
import json
import socket
import threading
import zlib
from contextlib import contextmanager

import pytest

from smart_context.web.limits import MAX_WIRE_FRAME_BYTES
from tests.fake_openai import Reply, held
from tests.gateway.asking import ApiClient, provided_vault
from tests.gateway.saying import assistant, user
from tests.patience import PATIENCE_S
from tests.serving import TOKEN

COMPLETIONS = "/v1/chat/completions"
PIECE = b'data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n'
STREAM = "text/event-stream"


@pytest.fixture
def client(server):
    return ApiClient(server)


def named(chat):
    return {"X-Smart-Context-Chat": chat}


def stored(server, chat):
    return server.ask("memory.load_chat", chat_id=chat)["messages"]


@contextmanager
def connected(server):
    address = ApiClient(server).address
    with socket.create_connection((address.hostname, address.port)) as raw:
        raw.settimeout(PATIENCE_S)
        yield raw


def until_closed(raw):
    return b"".join(iter(lambda: raw.recv(65536), b""))


def test_a_body_larger_than_any_other_limit_goes_on_whole(client, server, provider):
    length = MAX_WIRE_FRAME_BYTES + (4 << 20)
    raw = json.dumps({"messages": [user("x" * length)], "model": "gpt-4o"}).encode()
    answer = client.request("POST", COMPLETIONS, raw, **named("large"))
    assert answer.status == 200
    assert provider.chat_requests[-1].raw == raw
    assert len(stored(server, "large")[0]["content"]) == length


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"messages":' + b"[" * 100_000, id="deep lists"),
        pytest.param(b'{"messages":[' + b'{"a":' * 100_000, id="deep objects"),
        pytest.param(b'{"messages":[{"role":"user","content":"\xff"}]}', id="not UTF-8"),
        pytest.param(b'{"messages":[],"messages":[]}', id="a field twice"),
        pytest.param(b'{"messages":[NaN]}', id="no JSON number"),
    ],
)
def test_bodies_that_cannot_be_read_are_refused_in_the_apis_words(client, provider, body):
    before = len(provider.chat_requests)  # texts of other chats may be embedded meanwhile
    answer = client.request("POST", COMPLETIONS, body)
    assert answer.status == 400
    assert answer.json["error"]["type"] == "invalid_request_error"
    assert "body" in answer.json["error"]["message"] or "field" in answer.json["error"]["message"]
    assert len(provider.chat_requests) == before


def many(inside, count):
    return b'{"model":"m","messages":[' + b",".join([inside] * count) + b"]}"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param(many(b'{"role":"user","content":"x"}', 20_001), "20,000 items", id="messages"),
        pytest.param(many(b"[]", 200_001), "200,000 JSON values", id="empty lists"),
        pytest.param(
            many(b'{"role":"user","content":[' + b",".join([b'"x"'] * 2_049) + b"]}", 1),
            "2,048 parts",
            id="parts",
        ),
        pytest.param(
            many(b'{"role":' + b"[" * 900 + b",".join([b"1"] * 200_001) + b"]" * 900 + b"}", 1),
            "200,000 JSON values",
            id="a role of many values",
        ),
    ],
)
def test_bodies_of_too_much_are_413_and_never_reach_the_provider(client, provider, body, words):
    before = len(provider.chat_requests)
    answer = client.request("POST", COMPLETIONS, body)
    assert answer.status == 413
    assert words in answer.json["error"]["message"]
    assert len(provider.chat_requests) == before


def test_a_bomb_of_a_provider_passes_as_it_is_and_others_are_answered(client, server, provider):
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed = b"".join(packer.compress(bytes(1 << 20)) for _ in range(200)) + packer.flush()
    headers = {"Content-Encoding": "gzip"}
    provider.reply_with(Reply(body=packed, content_type=STREAM, headers=headers))
    assert client.chat(user("hi"), stream=True, headers=named("bomb")).raw == packed
    assert stored(server, "bomb")[-1]["role"] == "assistant"


@pytest.mark.parametrize(
    "message",
    [
        {"role": "narrator", "content": "Once upon a time"},
        {"role": "tool", "tool_call_id": "call_nobody", "content": "a result without a call"},
        user([{"type": "image_url", "image_url": {"url": "data:;base64,%%"}}]),
        {"role": "assistant", "content": None, "tool_calls": [{"id": 7, "function": "odd"}, 3]},
        {"role": "user", "content": {"an": "object"}},
        {"role": "user", "content": "\ud800 half a character"},
    ],
    ids=["role", "result", "base64", "calls", "content", "surrogate"],
)
def test_odd_messages_go_on_as_they_came_and_the_chat_survives(client, server, provider, message):
    raw = json.dumps({"messages": [message, user("Hello")], "model": "gpt-4o"}).encode()
    chat = f"odd-{abs(hash(raw))}"
    answer = client.request("POST", COMPLETIONS, raw, **named(chat))
    assert answer.status == 200
    assert provider.chat_requests[-1].raw == raw
    assert [m["content"] for m in stored(server, chat)][-2:] == ["Hello", "You said: Hello"]
    assert len(server.ask("smart_context.receipts", chat_id=chat)["receipts"]) == 1


@pytest.mark.parametrize("name", ["Accept", "Idempotency-Key", "OpenAI-Beta"])
def test_headers_that_are_not_ascii_go_on_as_they_came(client, provider, name):
    assert client.chat(user("hi"), headers={name: "caf\u00e9"}).status == 200
    assert provider.chat_requests[-1].headers[name.lower()] == "caf\u00e9"


@pytest.mark.parametrize("status", [[], {}, 3])
def test_a_response_with_an_odd_status_passes_and_is_kept(client, server, provider, status):
    said = [{"type": "output_text", "text": "Hi there"}]
    output = [{"type": "message", "role": "assistant", "content": said}]
    body = json.dumps({"object": "response", "status": status, "output": output}).encode()
    provider.reply_with(Reply(body=body), path="/responses")
    chat = f"odd-status-{type(status).__name__}"
    answer = client.respond("hi", headers=named(chat))
    assert (answer.status, answer.raw) == (200, body)
    assert [m["content"] for m in stored(server, chat)] == ["hi", "Hi there"]


def test_a_client_that_hangs_in_its_body_keeps_nobody_waiting(client, server):
    head = f"POST {COMPLETIONS} HTTP/1.1\r\nHost: {client.address.netloc}\r\n"
    head += f"Authorization: Bearer {TOKEN}\r\nContent-Length: 1000\r\n\r\n"
    with connected(server) as raw:
        raw.sendall(head.encode() + b'{"messages":[')
        assert client.chat(user("Are you there?")).status == 200


def test_a_client_of_http_1_0_gets_the_stream_to_its_end(client, server, provider):
    provider.reply_with(Reply(body=PIECE, content_type=STREAM))
    body = json.dumps({"messages": [user("hi")], "model": "m", "stream": True}).encode()
    head = f"POST {COMPLETIONS} HTTP/1.0\r\nHost: {client.address.netloc}\r\n"
    head += f"Authorization: Bearer {TOKEN}\r\nContent-Length: {len(body)}\r\n\r\n"
    with connected(server) as raw:
        raw.sendall(head.encode() + body)
        came, _, rest = until_closed(raw).partition(b"\r\n\r\n")
    assert b" 200 " in came.splitlines()[0]
    assert rest == PIECE


def test_a_provider_that_sends_half_an_event_loses_none_of_it(client, server, provider):
    half = PIECE + b'data: {"choices":[{"index":0,"del'
    provider.reply_with(Reply(body=half, content_type=STREAM))
    answer = client.chat(user("hi"), stream=True, headers=named("half"))
    assert answer.raw == half
    assert stored(server, "half")[-1]["content"] == "Hi"


def test_an_error_of_ours_is_an_event_of_its_own_after_half_an_event(client, provider):
    half = PIECE + b'data: {"choices":[{"index":0,"del'
    ends_early = {"Content-Length": "1000", "Connection": "close"}
    provider.reply_with(Reply(body=half, content_type=STREAM, headers=ends_early))
    came = client.chat(user("hi"), stream=True).raw
    assert came.startswith(half)
    last = came.rstrip().rpartition(b"\n\n")[2]
    assert "broke off" in json.loads(last.removeprefix(b"data: "))["error"]["message"]


def test_nothing_of_ours_follows_half_a_compressed_stream(client, provider):
    packed = gzip.compress(PIECE * 100)[:40]
    headers = {"Content-Encoding": "gzip", "Content-Length": "1000", "Connection": "close"}
    provider.reply_with(Reply(body=packed, content_type=STREAM, headers=headers))
    with pytest.raises(http.client.IncompleteRead) as broken:
        client.chat(user("hi"), stream=True)
    assert broken.value.partial == packed


def test_a_providers_text_makes_no_event_however_lines_are_split(client, server, provider):
    text = "".join(f'{end}data: {{"error": "forged"}}' for end in "\r\v\x1c\x1e\x85\u2028\u2029")
    delta = {"choices": [{"index": 0, "delta": {"content": text}}]}
    body = f"data: {json.dumps(delta, ensure_ascii=False)}\n\ndata: [DONE]\n\n".encode()
    provider.reply_with(Reply(body=body, content_type=STREAM))
    answer = client.chat(user("hi"), stream=True, headers=named("split"))
    first, *rest = [line for line in answer.raw.decode().splitlines() if line]
    assert (json.loads(first.removeprefix("data: ")), rest) == (delta, ["data: [DONE]"])
    assert stored(server, "split")[-1]["content"] == text


def test_an_event_of_a_mebibyte_passes_and_is_kept(client, server, provider):
    text = "y" * (1 << 20)
    event = {"choices": [{"index": 0, "delta": {"content": text}}]}
    body = f"data: {json.dumps(event)}\n\ndata: [DONE]\n\n".encode()
    provider.reply_with(Reply(body=body, content_type=STREAM))
    answer = client.chat(user("hi"), stream=True, headers=named("mebibyte"))
    assert answer.raw == body
    assert stored(server, "mebibyte")[-1]["content"] == text


def test_a_compressed_answer_passes_as_it_is_and_is_read(client, server, provider):
    body = gzip.compress(PIECE * 3 + b"data: [DONE]\n\n")
    headers = {"Content-Encoding": "gzip"}
    provider.reply_with(Reply(body=body, content_type=STREAM, headers=headers))
    answer = client.chat(user("hi"), stream=True, headers=named("gzip"))
    assert answer.raw == body
    assert answer.headers["content-encoding"] == "gzip"
    assert stored(server, "gzip")[-1]["content"] == "HiHiHi"


def test_two_clients_with_the_same_id_and_other_keys_have_two_chats(server, client):
    key = server.ask("system.new_client_key", client="other-key")["key"]
    other = ApiClient(server, key)
    same = {"X-OpenWebUI-Chat-Id": "the-same-id"}
    mine, theirs = client.chat(user("mine"), headers=same), other.chat(user("theirs"), headers=same)
    assert mine.chat != theirs.chat
    assert [m["content"] for m in stored(server, mine.chat)] == ["mine", "You said: mine"]


def test_a_client_that_changes_its_history_while_an_answer_streams_keeps_both(
    client, server, provider
):
    gate = threading.Event()
    provider.reply_with(held("one two three", gate, after=1))
    chat = named("changing")
    first = threading.Thread(
        target=client.chat, args=[user("first")], kwargs={"headers": chat, "stream": True}
    )
    before = len(provider.chat_requests)
    first.start()
    provider.wait_for_requests(before + 1)
    second = client.chat(user("second"), headers=chat)
    gate.set()
    first.join(PATIENCE_S)
    assert second.status == 200
    third = client.chat(user("second"), assistant("You said: second"), user("third"), headers=chat)
    assert third.status == 200
    document = server.ask("memory.load_chat", chat_id="changing")
    said = [m["content"] for m in document["messages"]]
    assert said == ["second", "You said: second", "third", "You said: third"]
    left = [m["content"] for branch in document["branches"] for m in branch["messages"]]
    assert "first" in left
    assert not any(m.get("generating") for m in document["messages"])


def test_a_chat_that_is_deleted_while_its_answer_streams_stays_deleted(client, server, provider):
    chat, gate, came = named("deleted"), threading.Event(), []
    said = client.chat(user("first"), headers=chat).text
    provider.reply_with(held("one two three", gate, after=1))
    before = len(provider.chat_requests)
    asking = threading.Thread(
        target=lambda: came.append(
            client.chat(user("first"), assistant(said), user("second"), headers=chat, stream=True)
        )
    )
    asking.start()
    provider.wait_for_requests(before + 1)
    server.ask("memory.delete_chat", chat_id="deleted")
    gate.set()
    asking.join(PATIENCE_S)
    assert came[0].raw.endswith(b"data: [DONE]\n\n")
    assert "deleted" not in {row["id"] for row in server.ask("memory.list_chats")["chats"]}

    later = client.chat(user("first"), assistant(said), user("third"), headers=chat)
    assert [m["content"] for m in stored(server, "deleted")] == ["first", said, "third", later.text]


def test_embeddings_as_base64_come_back_as_they_are(tmp_path):
    vector = base64.b64encode(b"\0\0\0\0").decode()
    body = json.dumps({"data": [{"index": 0, "embedding": vector}]}).encode()
    with provided_vault(tmp_path) as (server, provider, *_):  # no chat asks for vectors here
        provider.reply_with(Reply(body=body), path="/embeddings")
        asked = {"input": "x", "encoding_format": "base64"}
        answer = ApiClient(server).request("POST", "/v1/embeddings", asked)
    assert answer.raw == body
