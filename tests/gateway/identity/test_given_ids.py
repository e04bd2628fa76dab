import json

import pytest

from smart_context.gateway.identity.given_ids import client_of, given_id
from smart_context.gateway.requests.body import read_body


def body_of(**fields):
    return read_body(json.dumps({"messages": [], **fields}).encode(), "messages")


@pytest.mark.parametrize(
    ("headers", "fields", "value"),
    [
        ({"x-openwebui-chat-id": "a", "x-session-id": "b"}, {}, "a"),
        ({"x-session-id": "b"}, {"prompt_cache_key": "c"}, "b"),
        ({"session-id": "s", "thread-id": "t"}, {}, "s/t"),
        ({"thread-id": "t"}, {}, "t"),
        ({"x-litellm-session-id": "l"}, {}, "l"),
        ({"x-acme-session-id": "12345678"}, {}, "12345678"),
        ({"x-acme-conversation-id": "12345678"}, {}, "12345678"),
        ({"x-acme-session-id": "1234567"}, {}, None),
        ({}, {"prompt_cache_key": "c", "metadata": {"chat_id": "d"}}, "c"),
        ({}, {"conversation": {"id": "conv_1"}}, "conv_1"),
        ({}, {"conversation": "conv_1"}, "conv_1"),
        ({}, {"metadata": {"thread_id": "t", "session_id": "s"}}, "s"),
        ({}, {"user": "somebody"}, None),
        ({}, {"metadata": {"chat_id": 5}}, None),
    ],
)
def test_the_first_name_of_a_chat_counts(headers, fields, value):
    found = given_id(headers, body_of(**fields))
    assert (found.value if found else None) == value


def test_equal_names_of_two_keys_are_two_chats():
    name = given_id({"x-session-id": "s"}, body_of())
    assert name.chat_id("a") != name.chat_id("b")
    assert name.chat_id("a") == name.chat_id("a")


@pytest.mark.parametrize(
    ("headers", "client"),
    [
        ({"user-agent": "OpenAI/Python 1.0"}, "openai-python"),
        ({"user-agent": "python", "x-openwebui-chat-id": "x"}, "open-webui"),
        ({"user-agent": "opencode/1.0 ai-sdk/provider"}, "opencode"),
        ({"user-agent": "codex_cli_rs/0.50"}, "codex"),
        ({"user-agent": "Weird-Thing/2"}, "weird-thing"),
        ({}, "unknown"),
    ],
)
def test_clients_have_short_names(headers, client):
    assert client_of(headers) == client


@pytest.mark.parametrize(
    ("agent", "key", "client"),
    [
        ("node-fetch", "sillytavern", "sillytavern"),
        ("python-httpx/0.28", "my-script", "my-script"),
        ("", "my-script", "my-script"),
        ("aider/0.86", "my-script", "aider"),
        ("node-fetch", "token", "node-fetch"),
        ("", "token", "unknown"),
    ],
)
def test_a_program_that_does_not_say_who_it_is_goes_by_its_key(agent, key, client):
    assert client_of({"user-agent": agent}, key) == client
