"""A provider that repeats our key: nothing that is stored or shown holds it."""

import json
from contextlib import suppress

import pytest

from tests.fake_openai import Reply, failure
from tests.gateway.asking import ApiClient
from tests.gateway.saying import assistant, user
from tests.vaults import KEY

SECRET = KEY["TEST_KEY_NAME"]
ESCAPED = "".join(f"\\u{ord(letter):04x}" for letter in SECRET)
STREAM = "text/event-stream"


@pytest.fixture
def client(server):
    return ApiClient(server)


def named(chat):
    return {"X-Smart-Context-Chat": chat}


def kept(server):
    """All that the vault's memory holds, and what was logged."""
    texts = [*server.errors]
    for path in (server.vault / ".memory").rglob("*"):
        with suppress(FileNotFoundError, IsADirectoryError):  # some are still being written
            texts.append(path.read_text(errors="replace"))
    return "".join(texts)


def assert_nowhere(server):
    everything = kept(server)
    assert SECRET not in everything
    assert ESCAPED not in everything
    assert ESCAPED.replace("\\", "\\\\") not in everything


@pytest.mark.parametrize("stream", [False, True])
def test_an_error_that_repeats_the_key_is_stored_without_it(client, server, provider, stream):
    chat = f"refused-{stream}"
    words = f"Incorrect key: {SECRET}, or {ESCAPED}, or {SECRET[:10]}..."
    provider.reply_with(failure(401, words))
    with server.connect() as wire:
        wire.call("chat.open", chat_id=chat)
        client.chat(user("hi"), headers=named(chat), stream=stream)
        wire.wait_for("chat.failed", chat_id=chat)
        assert SECRET not in json.dumps(wire.events)
    error = server.ask("memory.load_chat", chat_id=chat)["messages"][-1]["error"]
    assert error == "Incorrect key: [key], or [key], or [key]..."
    assert SECRET not in json.dumps(server.ask("system.clients"))
    assert_nowhere(server)


def test_an_error_in_mid_stream_is_stored_without_it(client, server, provider):
    error = {"error": {"message": f"upstream refused {SECRET}"}}
    body = f"data: {json.dumps(error)}\n\n".encode()
    provider.reply_with(Reply(body=body, content_type=STREAM))
    assert client.chat(user("hi"), headers=named("midway"), stream=True).raw == body
    stored = server.ask("memory.load_chat", chat_id="midway")["messages"][-1]
    assert stored["error"] == "upstream refused [key]"
    assert_nowhere(server)


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_repeats_the_key_is_stored_and_shown_without_it(
    client, server, provider, stream
):
    chat = f"said-{stream}"
    said = f"Your key is {SECRET}, in JSON {ESCAPED}. Keep it to yourself, whatever happens."
    provider.reply_with(Reply(pieces=tuple(said), reasoning=(f"The key {SECRET[:5]}", SECRET[5:])))
    with server.connect() as wire:
        wire.call("chat.open", chat_id=chat)
        first = client.chat(user("Which key?"), headers=named(chat), stream=stream)
        wire.wait_for("chat.finished", chat_id=chat)
        shown = "".join(params["text"] for name, params in wire.events if name == "chat.token")
    if stream:
        assert shown == "Your key is [key], in JSON [key]. Keep it to yourself, whatever happens."
    again = client.chat(user("Which key?"), assistant(said), user("And then?"), headers=named(chat))
    stored = server.ask("memory.load_chat", chat_id=first.chat)
    texts = [m["content"] for m in stored["messages"]]
    assert len(texts) == 4
    assert "[key], in JSON [key]." in json.dumps(texts[1])
    assert not stored.get("branches")
    assert provider.chat_requests[-1].messages[1]["content"] == said
    receipt = server.ask("smart_context.receipt", chat_id=again.chat, turn=again.receipt)
    assert SECRET not in json.dumps(receipt)
    assert_nowhere(server)


@pytest.mark.parametrize("stream", [False, True])
def test_a_chat_without_a_name_is_found_by_an_answer_that_repeats_the_key(
    client, server, provider, stream
):
    said = f"Your key is {SECRET}. Keep it to yourself, whatever happens to you this year."
    provider.reply_with(said)
    asked = user(f"Tell me my key, in turn {stream}")
    first = client.chat(asked, stream=stream)
    assert client.chat(asked, assistant(said), user("Thanks")).chat == first.chat
    assert_nowhere(server)


def test_tool_calls_names_and_ids_are_stored_without_it(client, server, provider):
    call = (f"call_{SECRET}", f"use_{SECRET}", json.dumps({"key": SECRET, "twice": ESCAPED}))
    provider.reply_with(Reply(tool_calls=(call,)))
    client.chat(user("Use it"), headers=named("calls"), stream=True)
    assert "[key]" in json.dumps(server.ask("memory.load_chat", chat_id="calls"))
    assert_nowhere(server)


def _events(*deltas, **fields):
    made = [{"choices": [{"index": 0, "delta": delta}], **fields} for delta in deltas]
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in made)


def _in_letters(name, text):
    return [{"tool_calls": [{"index": 0, "function": {name: letter}}]} for letter in text]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(_events({"content": "a"}, system_fingerprint=SECRET), id="fingerprint"),
        pytest.param(_events({"refusal": SECRET[:4]}, {"refusal": SECRET[4:]}), id="refusal"),
        pytest.param(_events({"role": SECRET, "content": "a"}), id="role"),
        pytest.param(_events({"content": "a"}, usage={SECRET: 1}), id="usage"),
        pytest.param(_events({"function_call": {"name": SECRET}}), id="old call"),
        pytest.param(_events(*_in_letters("arguments", ESCAPED)), id="arguments in letters"),
        pytest.param(_events(*_in_letters("name", SECRET)), id="name in letters"),
        pytest.param(_events({"content": [{"type": "text", "text": SECRET}]}), id="parts"),
        pytest.param(_events({"reasoning_details": [{"text": SECRET}]}), id="details"),
        pytest.param(_events({"content": f"is {SECRET}"})[:-4], id="cut in mid-event"),
        pytest.param(b": " + SECRET.encode() + b"\n\n", id="comment"),
        pytest.param(b"data: " + SECRET.encode() + b"\n\n", id="no JSON"),
    ],
)
def test_no_field_of_a_stream_brings_it_into_what_is_kept(client, server, provider, body, request):
    chat = "field-" + request.node.callspec.id.replace(" ", "-").lower()
    provider.reply_with(Reply(body=body, content_type=STREAM))
    with server.connect() as wire:
        wire.call("chat.open", chat_id=chat)
        client.chat(user(f"hi {chat}"), headers=named(chat), stream=True)
        server.ask("system.clients")
        assert SECRET not in json.dumps(wire.events)
    assert_nowhere(server)


def test_a_response_is_stored_without_it(client, server, provider):
    said = [{"type": "output_text", "text": f"It is {SECRET}"}]
    output = [{"type": "message", "role": "assistant", "content": said}]
    made = {"object": "response", "id": SECRET, "model": SECRET, "output": output}
    provider.reply_with(Reply(body=json.dumps(made).encode()), path="/responses")
    client.respond("Which?", headers=named("response"))
    stored = server.ask("memory.load_chat", chat_id="response")["messages"]
    assert stored[-1]["content"] == "It is [key]"
    assert_nowhere(server)


def test_an_answer_on_the_page_is_stored_and_shown_without_it(server, provider):
    provider.reply_with(Reply(pieces=(f"It is {SECRET[:4]}", SECRET[4:], "!")))
    with server.connect() as wire:
        wire.call("chat.send", chat_id="page", message="Which?", stream=True)
        assert SECRET not in json.dumps(wire.events)
    stored = server.ask("memory.load_chat", chat_id="page")["messages"]
    assert stored[-1]["content"] == "It is [key]!"
    assert_nowhere(server)
