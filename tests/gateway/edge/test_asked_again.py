"""A request that the provider refuses for its length or its order is asked once more."""

import json

import pytest

from tests.fake_openai import failure
from tests.gateway.asking import ApiClient
from tests.gateway.saying import assistant, system, user

LOCAL = "local-7b"
LONG = [
    said
    for number in range(8)
    for said in (user(f"Question {number}: " + "bread " * 200), assistant(f"Answer {number}."))
]
TOO_LONG = (
    "the request exceeds the available context size: request (2500 tokens) exceeds the available "
    "context size (1500 tokens), try increasing it"
)
TURNS = "Conversation roles must alternate user/assistant/user/assistant/..."


@pytest.fixture
def client(server):
    return ApiClient(server)


def sent(provider):
    return [json.loads(request.raw) for request in provider.chat_requests]


@pytest.mark.parametrize("stream", [False, True])
def test_a_request_that_is_too_long_is_shortened_and_asked_once_more(
    client, server, provider, stream
):
    before = len(provider.chat_requests)
    provider.reply_with(failure(400, TOO_LONG))
    model = f"{LOCAL}-{stream}"
    answer = client.chat(
        system("Be brief."), *LONG, user(f"And now, {stream}?"), model=model, stream=stream
    )
    assert answer.status == 200
    first, second = sent(provider)[before:]
    assert len(first["messages"]) == len(LONG) + 2
    messages = second["messages"]
    assert messages[0] == system("Be brief.")
    assert messages[1:] == first["messages"][-len(messages[1:]) :]
    assert 3 <= len(messages) < 12
    receipt = server.ask("smart_context.receipt", chat_id=answer.chat, turn=answer.receipt)
    assert "takes 1,500 tokens and refused a longer request" in json.dumps(receipt)
    assert [m["content"] for m in receipt["prompt"]] == [m["content"] for m in messages]
    assert receipt["left_out_tokens"] > 500
    out = [row for row in receipt["messages"] if not row["in"]]
    assert len(out) == len(first["messages"]) - len(messages)


def test_a_request_of_which_nothing_can_go_is_refused_in_the_providers_words(client, provider):
    provider.reply_with(failure(400, TOO_LONG))
    before = len(provider.chat_requests)
    answer = client.chat(user("A long one: " + "bread " * 2_000), model=f"{LOCAL}-alone")
    assert (answer.status, len(provider.chat_requests) - before) == (400, 1)
    assert answer.json["error"]["message"] == TOO_LONG


def test_other_refusals_pass_byte_for_byte(client, provider):
    provider.reply_with(failure(400, "no such parameter: 1e0"))
    before = len(provider.chat_requests)
    answer = client.chat(user("Hello there"), model=f"{LOCAL}-other")
    assert (answer.status, len(provider.chat_requests) - before) == (400, 1)
    assert answer.json["error"]["message"] == "no such parameter: 1e0"


def test_neighbouring_messages_are_joined_once_the_endpoint_has_demanded_turns(
    client, server, provider
):
    model = f"{LOCAL}-strict"
    asked = [system("Be brief."), user("First thought."), user("Second thought: what is rye?")]
    joined = [system("Be brief."), user("First thought.\n\nSecond thought: what is rye?")]
    before = len(provider.chat_requests)
    provider.reply_with(failure(400, TURNS))
    answer = client.chat(*asked, model=model, temperature=0.5)
    assert answer.status == 200
    first, second = sent(provider)[before:]
    assert first == {"model": model, "messages": asked, "temperature": 0.5}
    assert second == {"model": model, "messages": joined, "temperature": 0.5}
    receipt = server.ask("smart_context.receipt", chat_id=answer.chat, turn=answer.receipt)
    assert receipt["prompt"] == joined
    assert [row["text"] for row in receipt["messages"]] == ["Be brief.", "First thought."]

    said = client.chat(*asked, assistant(answer.text), user("And spelt?"), model=model)
    (third,) = sent(provider)[before + 2 :]
    assert third["messages"] == [*joined, assistant(answer.text), user("And spelt?")]
    preview = server.ask("smart_context.preview", chat_id=said.chat, message="More?")
    later = [*third["messages"], assistant(said.text), user("More?")]
    assert preview["body"]["messages"] == later
