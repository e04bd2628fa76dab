"""A request that the provider refuses for its length or its order is asked once more.

What was learned from it, later requests keep to from the start.
"""

import json

import pytest

from tests.fake_openai import Reply, failure
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


def words(messages):
    return sum(len(str(message["content"]).split()) for message in messages)


def test_once_the_window_is_known_a_request_is_shortened_before_it_is_refused(
    client, server, provider
):
    model = f"{LOCAL}-known"
    before = len(provider.chat_requests)
    provider.reply_with(failure(400, TOO_LONG))
    first = client.chat(*LONG, user("And now, bread?"), model=model)
    goes_on = [*LONG, user("And now, bread?"), assistant(first.text), user("And then?")]
    tools = [{"type": "function", "function": {"name": "f", "description": "knead " * 300}}]
    said = client.chat(system("Be brief."), *goes_on, model=model, tools=tools)
    assert said.status == 200
    _, second, third = sent(provider)[before:]
    assert third["messages"][0] == system("Be brief.")
    assert third["messages"][-3:] == goes_on[-3:]
    assert words(third["messages"]) < words(second["messages"])  # tools take room, too
    receipt = server.ask("smart_context.receipt", chat_id=said.chat, turn=said.receipt)
    assert receipt["prompt"] == third["messages"]
    assert receipt["problem"] == ""
    assert receipt["tokens"] <= 0.9 * 1_500
    assert len([row for row in receipt["messages"] if not row["in"]]) > 5

    asked = {"chat_id": said.chat, "message": "More?", "topics": []}  # none is picked anyway
    preview = server.ask("smart_context.preview", **asked)
    assert (preview["change"]["tokens"], preview["change"]["removed"]) == (0, [])
    assert server.ask("smart_context.preview", **asked, brief=True)["tokens"] == preview["tokens"]
    later = client.chat(
        *(system("Be brief."), *goes_on, assistant(said.text), user("More?")),
        model=model,
        tools=tools,
    )
    assert later.headers["x-smart-context-out"] == str(len(preview["body"]["messages"]))
    assert sent(provider)[-1]["messages"] == preview["body"]["messages"]
    assert preview["window"] is None or preview["tokens"] <= 0.9 * 1_500
    whole = client.chat(*goes_on, model=model, headers={"X-Smart-Context": "off"})
    assert whole.status == 200
    assert sent(provider)[-1]["messages"] == goes_on


TASK = "### Task:\nSuggest three follow-ups for the chat.\n"


def test_asides_are_shortened_and_joined_too(client, server, provider):
    model = f"{LOCAL}-aside"
    before = len(provider.chat_requests)
    provider.reply_with(failure(400, TOO_LONG), failure(400, TURNS))
    headers = {"X-OpenWebUI-Chat-Id": "a-chat-with-asides"}
    client.chat(*LONG, user("One?"), user("And now?"), model=model, headers=headers)
    title = system("You are a title generator. You output ONLY a thread title.")
    asked = [said for said in LONG if said["role"] == "user"]
    aside = client.chat(title, *asked, user("And"), user("now?"), model=model, headers=headers)
    assert aside.status == 200
    *_, last = sent(provider)[before:]
    assert len(sent(provider)[before:]) == 4
    assert last["messages"][0] == title
    assert last["messages"][1]["content"].endswith("bread \n\nAnd\n\nnow?")
    assert 200 < words(last["messages"]) < 1_400
    receipt = server.ask("smart_context.receipt", chat_id=aside.chat, turn=aside.receipt)
    assert receipt["kind"] == "aside"
    assert receipt["prompt"] == last["messages"]
    assert "left out" in receipt["problem"]


def answered(text="Aye"):
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text"}]}
    item["content"][0]["text"] = text
    body = {"id": "r", "object": "response", "status": "completed", "output": [item]}
    return Reply(body=json.dumps(body).encode())


def test_items_of_responses_are_shortened_and_joined_too(client, server, provider):
    model = f"{LOCAL}-responses"
    replies = failure(400, TOO_LONG), failure(400, TURNS), answered(), answered("Nay")
    provider.reply_with(*replies, path="/responses")
    call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c1", "output": "Done."}
    thought = {"type": "reasoning", "summary": []}
    parts = [{"type": "input_text", "text": "So?"}]
    asked = [*LONG, user("Do it."), thought, call, result, user("And"), user(parts)]
    first = client.respond(asked, model=model, instructions="Be brief.")
    assert first.status == 200
    goes_on = [*asked, assistant("Aye"), user("Then?")]
    client.respond(goes_on, model=model, instructions="Be brief.")
    requests = [r.body for r in provider.requests if r.path == "/responses"]
    assert len(requests) == 4
    last = requests[-1]
    assert last["instructions"] == "Be brief."
    assert last["input"][-3:] == [user("And\n\nSo?"), *goes_on[-2:]]
    assert thought in last["input"]
    assert last["input"].index(call) + 1 == last["input"].index(result)
    assert len(last["input"]) < len(asked)


def test_a_model_without_a_system_role_gets_instructions_as_the_users(client, provider):
    model = f"{LOCAL}-no-system"
    refusal = failure(400, "System role not supported")
    provider.reply_with(refusal, answered(), path="/responses")
    assert client.respond("What is rye?", model=model, instructions="Be brief.").status == 200
    last = [r.body for r in provider.requests if r.path == "/responses"][-1]
    assert last["instructions"] is None
    assert last["input"] == [user("Be brief.\n\nWhat is rye?")]


def test_what_a_provider_counts_for_clients_corrects_later_counts(client, server, provider):
    model = f"{LOCAL}-counting"
    long = [user("knead " * 600), assistant("Yes."), user("And?")]
    provider.reply_with(Reply(text="Aye", usage=(2_600, 1)))
    assert client.chat(*long, model=model).status == 200
    provider.reply_with(failure(400, TOO_LONG.replace("2500", "4000")))
    said = client.chat(*long[:2], user("So?"), assistant("Aye."), user("Now?"), model=model)
    # by the estimate, all of it would take half of the window
    (_, again) = sent(provider)[-2:]
    assert said.status == 200
    assert words(again["messages"]) < 600


def test_a_request_that_was_shortened_stays_so_in_the_order_that_is_demanded_then(client, provider):
    before = len(provider.chat_requests)
    over = "prompt too long; exceeded max context length by 900 tokens"
    provider.reply_with(failure(400, over), failure(400, TURNS))
    joined = [*LONG, user("One."), user("Two.")]
    assert client.chat(*joined, model="local-guessed").status == 200
    first, second, third = (len(body["messages"]) for body in sent(provider)[before:])
    assert first == len(joined)
    assert 5 < third < second < first


def test_a_window_that_was_guessed_is_kept_to_once_it_has_fitted(client, provider):
    over = "prompt too long; exceeded max context length by 900 tokens"
    provider.reply_with(failure(400, over))
    assert client.chat(*LONG, user("One?"), model="local-unnamed").status == 200
    before = len(provider.chat_requests)
    assert client.chat(*LONG, user("Two?"), model="local-unnamed").status == 200
    (again,) = sent(provider)[before:]
    assert 5 < len(again["messages"]) < len(LONG) + 1


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
