import json

import pytest

from smart_context.gateway.identity import client_of, given_id, is_aside
from smart_context.gateway.requests.body import read_body
from smart_context.gateway.requests.units import chat_units
from tests.gateway.saying import assistant, system, user


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


TITLE = system("You are a title generator. You output ONLY a thread title.")
NAMED = {"x-session-id": "s"}


@pytest.mark.parametrize(
    ("messages", "headers", "fields", "expected"),
    [
        ([user("### Task:\nSuggest tags")], {}, {}, True),
        ([user("Hello"), user("### Task: x")], {}, {}, False),
        ([TITLE, user("Hello")], NAMED, {}, True),
        ([TITLE, user("Hello")], {}, {}, False),
        ([TITLE, user("Hello")], NAMED, {"tools": [{}]}, False),
        ([TITLE, user("Hello"), assistant("Hi"), user("So?")], NAMED, {}, False),
        ([system("You are a helpful assistant."), user("Write a title")], NAMED, {}, False),
    ],
)
def test_a_clients_own_tasks_are_told_from_turns(messages, headers, fields, expected):
    body = body_of(**fields)
    assert is_aside(list(chat_units(messages)), body, given_id(headers, body)) is expected


@pytest.mark.parametrize(
    "prompt",
    [
        "You are a title generator. You output ONLY a thread title. Nothing else.",
        "You output ONLY a thread title.",
        "Generate a short title for the following conversation",
        "Create a concise title based on the user's first message",
        "You will generate a short title based on the first message a user begins with.",
        "Your task: create a concise, 3-5 word title for the chat.",
        "Write a short and descriptive title for this session.",
        "You are an expert. Please make a title of at most five words.",
        "Suggest one clear title.\nDon't use quotes.",
        "You are a helper that writes titles for conversations.",
        "Output only the words. Then output just a title, without quotes.",
        "GENERATE A BRIEF TITLE that helps the user to find this conversation",
    ],
)
def test_a_prompt_that_asks_for_a_title_is_told(prompt):
    units = list(chat_units([system(prompt), user("Hello")]))
    assert is_aside(units, body_of(), given_id(NAMED, body_of()))


@pytest.mark.parametrize(
    "prompt",
    [
        "You make web pages. The title of the site is Foo.",
        "Write short answers. Address the user by title and name.",
        "You write for the magazine, whose title is Foo.",
        "Write an essay with a title and three parts.",
        "Create posts; the title comes first.",
        "Do not write a title above the answer.",
        "Answer at once and never output a title.",
        "You don't make titles up.",
        "The title of the book is Foo. Generate questions about it.",
        "Write the title of each section in bold.",
        "You create tables of contents for a book of that title.",
        "Output Markdown\nTitles are level two",
        "Generate code in the language that the title names.",
        "You are a helpful assistant.",
    ],
)
def test_a_prompt_that_only_mentions_titles_is_that_of_a_turn(prompt):
    units = list(chat_units([system(prompt), user("Hello")]))
    assert not is_aside(units, body_of(), given_id(NAMED, body_of()))


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
