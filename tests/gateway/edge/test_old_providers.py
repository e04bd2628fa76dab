"""Providers that speak HTTP/1.0, or break off before their answer has begun."""

import json

import pytest

from tests.gateway.asking import ApiClient
from tests.gateway.saying import user
from tests.hostile_endpoint import hostile_endpoint
from tests.serving import serving
from tests.vaults import KEY

WHOLE = json.dumps({"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}}]})
PIECES = [
    f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': text}}]})}\n\n"
    for text in ("Good ", "morning")
]


def old(content_type, *parts):
    """An answer without a length: it ends with the connection."""
    head = f"HTTP/1.0 200 OK\r\nContent-Type: {content_type}\r\n\r\n"
    return lambda: [part.encode() for part in (head, *parts)], 0.01


ANSWERS = {
    "whole": old("application/json", WHOLE[:20], WHOLE[20:]),
    "in pieces": old("text/event-stream", *PIECES, "data: [DONE]\n\n"),
    "no more than half a head": (lambda: [b"HTTP/1.1 200 OK\r\nContent-Ty"], 0),
    "nothing": (list, 0),
    "no HTTP": (lambda: [b"hello\r\n\r\n"], 0),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    vault = tmp_path_factory.mktemp("old")
    with hostile_endpoint(ANSWERS) as base_url:
        (vault / ".vault.toml").write_text(
            f'[llm]\nbase_url = "{base_url}"\nmax_retries = 0\n[llm.categories]\nchat = "m"\n',
            encoding="utf-8",
        )
        with serving(vault, env=KEY) as running:
            yield running


def stored(server, chat):
    return server.ask("memory.load_chat", chat_id=chat)["messages"][-1]


@pytest.mark.parametrize(
    ("asked", "stream", "came", "text"),
    [
        ("whole", False, WHOLE, "Hi"),
        ("in pieces", True, "".join((*PIECES, "data: [DONE]\n\n")), "Good morning"),
    ],
)
def test_an_answer_of_http_1_0_passes_and_is_kept(server, asked, stream, came, text):
    named = {"X-Smart-Context-Chat": asked.replace(" ", "-")}
    answer = ApiClient(server).chat(user(asked), headers=named, stream=stream)
    assert (answer.status, answer.raw.decode()) == (200, came)
    assert stored(server, answer.chat)["content"] == text


@pytest.mark.parametrize("asked", ["no more than half a head", "nothing", "no HTTP"])
def test_an_answer_that_never_begins_is_an_error_in_the_apis_words(server, asked):
    named = {"X-Smart-Context-Chat": asked.replace(" ", "-")}
    answer = ApiClient(server).chat(user(asked), headers=named, stream=True)
    assert answer.status == 502
    assert "gave no answer" in answer.json["error"]["message"]
    assert stored(server, asked.replace(" ", "-"))["error"]
