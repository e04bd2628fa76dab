import json

import pytest

from smart_context.chat.messages import Message
from smart_context.gateway.requests.body import read_body
from smart_context.gateway.requests.outgoing import (
    as_items,
    kept_units,
    last_question,
    outgoing,
    with_system,
)
from smart_context.gateway.requests.units import chat_units, response_units
from tests.gateway.saying import assistant, system, user

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
ASKS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
FOUND = {"role": "tool", "tool_call_id": "c1", "content": "found"}


def sent(messages, kept, *, kind="chat", name="messages", back=None, system_text="", **fields):
    raw = json.dumps({"model": "m", name: messages, "x": 1e0, **fields})
    body = read_body(raw.encode(), name)
    units = list((chat_units if kind == "chat" else response_units)(messages))
    made = outgoing(kind, body, units, kept, brought_back=back or {}, system=system_text)
    return raw, made


def kept(messages, *ids):
    names = [str(at) for at in range(len(messages))]
    return kept_units(list(chat_units(messages)), names, set(ids))


def test_nothing_left_out_and_nothing_added_is_the_same_text():
    raw, made = sent([system("s"), user("q")], [0, 1])
    assert made.text == raw
    assert made.count == 2
    assert [*made.values()] == [system("s"), user("q")]


def test_what_is_left_out_is_missing_and_the_rest_is_as_it_came():
    raw, made = sent([system("s"), user("q"), assistant("a"), user("r")], [0, 3])
    assert made.text == raw.replace(
        '{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}, ', ""
    ).replace("}, {", "},{")


def test_system_messages_the_last_question_and_what_follows_stay():
    messages = [system("s"), user("q"), assistant("a"), user("r"), ASKS, FOUND]
    assert kept(messages) == [0, 3, 4, 5]


def test_a_call_and_its_result_are_never_parted():
    messages = [user("q"), ASKS, FOUND, assistant("a"), user("r")]
    assert kept(messages, "1") == [1, 2, 4]
    assert kept(messages, "2") == [1, 2, 4]


def test_whoever_speaks_last_stays_when_no_user_does():
    assert kept([assistant("a"), assistant("b"), assistant("c")]) == [2]
    assert kept([assistant("a")]) == [0]
    assert kept([]) == []
    assert last_question([]) == 0


def test_a_role_goes_into_the_leading_system_message():
    _, made = sent([system("Be kind."), user("q")], [0, 1], system_text="You review.")
    assert json.loads(made.text)["messages"][0]["content"] == "Be kind.\n\nYou review."


def test_a_role_goes_into_a_system_message_of_parts():
    parts = [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}]
    _, made = sent([{"role": "system", "content": parts}, user("q")], [0, 1], system_text="Hi")
    assert json.loads(made.text)["messages"][0]["content"] == [
        *parts,
        {"type": "text", "text": "Hi"},
    ]


def test_a_role_without_a_system_message_makes_one():
    _, made = sent([user("q")], [0], system_text="You review.")
    assert json.loads(made.text)["messages"] == [system("You review."), user("q")]


def test_a_role_goes_into_the_instructions_of_a_response():
    _, made = sent(
        [user("q")], [0], kind="responses", name="input", system_text="b", instructions="a"
    )
    assert json.loads(made.text)["instructions"] == "a\n\nb"
    _, made = sent([user("q")], [0], kind="responses", name="input", system_text="b")
    assert json.loads(made.text)["instructions"] == "b"


def test_a_message_that_is_brought_back_goes_before_its_unit():
    old = Message.from_dict({"id": "x", **user("Always speak French.")})
    _, made = sent([system("s"), user("q")], [0, 1], back={1: [old]})
    assert json.loads(made.text)["messages"] == [
        system("s"),
        user("Always speak French."),
        user("q"),
    ]


def test_a_result_that_is_brought_back_is_written_as_the_client_does():
    old = Message(id="x", role="tool", content="found", extra={"tool_call_id": "c1"})
    _, made = sent([system("s"), user("q")], [0, 1], back={1: [old]})
    assert json.loads(made.text)["messages"][1] == FOUND


def test_items_of_a_response_are_left_out_and_brought_back():
    messages = [user("q"), assistant("a"), user("r")]
    old = Message.from_dict({"id": "x", **user("Remember this.")})
    _, made = sent(messages, [0, 2], kind="responses", name="input", back={1: [old]})
    items = [user("q"), user("Remember this."), user("r")]
    assert json.loads(made.text) == {"model": "m", "input": items, "x": 1}
    assert made.count == 3
    assert [*made.values()] == items


def test_a_response_to_a_bare_text_has_one_item():
    body = read_body(b'{"input": "Hi", "x": 1}', "input")
    units = list(response_units([user("Hi")]))
    made = outgoing("responses", body, units, [0], brought_back={}, system="You review.")
    assert json.loads(made.text) == {"input": "Hi", "x": 1, "instructions": "You review."}
    assert [*made.values()] == [user("Hi")]
    assert not outgoing("chat", read_body(b"{}", "messages"), [], [], brought_back={}).values()


PARTS = (
    {"type": "text", "text": "Let me see."},
    {"type": "tool_call", "tool_call_id": "c1", "tool_name": "look", "args": {"a": 1}},
    {"type": "tool_call", "tool_call_id": "c2", "args": None},
    {"type": "tool_call", "tool_call_id": "c3", "tool_name": "look", "args": "{}"},
    {"type": "info", "text": "[image]", "digest": "d"},
)


def chat_call(call_id, name, arguments):
    made = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": made}


def response_call(call_id, name, arguments):
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


CALLS = [("c1", "look", '{"a":1}'), ("c2", "unknown", "{}"), ("c3", "look", "{}")]


@pytest.mark.parametrize(
    ("kind", "role", "content", "items"),
    [
        ("chat", "user", "Hi", [user("Hi")]),
        ("responses", "user", "Hi", [user("Hi")]),
        ("responses", "assistant", "", []),
        ("chat", "tool", "found", [{"role": "tool", "content": "found", "tool_call_id": "c0"}]),
        (
            "responses",
            "tool",
            "found",
            [{"type": "function_call_output", "call_id": "c0", "output": "found"}],
        ),
        (
            "chat",
            "assistant",
            PARTS,
            [assistant("Let me see.") | {"tool_calls": [chat_call(*call) for call in CALLS]}],
        ),
        (
            "responses",
            "assistant",
            PARTS,
            [assistant("Let me see."), *(response_call(*call) for call in CALLS)],
        ),
        (
            "chat",
            "assistant",
            PARTS[3:4],
            [{"role": "assistant", "content": None, "tool_calls": [chat_call(*CALLS[2])]}],
        ),
        ("responses", "assistant", PARTS[3:4], [response_call(*CALLS[2])]),
    ],
)
def test_a_stored_message_is_written_as_its_client_does(kind, role, content, items):
    extra = {"tool_call_id": "c0"} if role == "tool" else {}
    message = Message(id="m", role=role, content=content, extra=extra)
    written = as_items(kind, message)
    assert [json.loads(item) for item in written] == items
    assert [json.dumps(item, separators=(",", ":")) for item in items] == written


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([], [system("S")]),
        ([user("q")], [system("S"), user("q")]),
        ([system("a"), user("q"), user("r")], [system("a\n\nS"), user("q"), user("r")]),
        ([system(""), user("q")], [system("S"), user("q")]),
        (
            [{"role": "developer", "content": "a"}, user("q")],
            [{"role": "developer", "content": "a\n\nS"}, user("q")],
        ),
        ([{"role": "system"}, user("q")], [system("S"), {"role": "system"}, user("q")]),
        ([system(5), user("q")], [system("S"), system(5), user("q")]),
        ([{"role": [], "content": "a"}], [system("S"), {"role": [], "content": "a"}]),
        ([system([]), user("q")], [system("S"), system([]), user("q")]),
        (
            [system([{"type": "text", "text": "a"}]), user("q"), user("r")],
            [
                system([{"type": "text", "text": "a"}, {"type": "text", "text": "S"}]),
                user("q"),
                user("r"),
            ],
        ),
    ],
)
def test_a_system_text_goes_into_the_first_message_or_before_it(items, expected):
    written = with_system([json.dumps(item) for item in items], "S")
    assert [json.loads(item) for item in written] == expected


def test_instructions_that_are_no_text_give_way_to_the_role():
    _, made = sent(
        [user("q")], [0], kind="responses", name="input", system_text="b", instructions=[1]
    )
    assert json.loads(made.text)["instructions"] == "b"


@pytest.mark.parametrize("role", [[], {"a": 1}, None, 7])
def test_a_first_message_of_an_odd_role_gets_a_system_message_before_it(role):
    odd = {"role": role, "content": "c"}
    _, made = sent([odd], [0], system_text="more")
    assert [*made.values()] == [system("more"), odd]


@pytest.mark.parametrize("number", ["1e999", "9" * 5000])
def test_a_receipt_has_numbers_that_json_cannot_hold_as_text(number):
    raw = '{"messages":[{"role":"system","content":"s","n":' + number + "}]}"
    body = read_body(raw.encode(), "messages")
    units = list(chat_units([item.value for item in body.listed.items]))
    made = outgoing("chat", body, units, [0], brought_back={}, system="more")
    assert number in made.text
    assert [*made.values()] == [{"role": "system", "content": "s\n\nmore", "n": number}]


def test_a_role_is_added_to_a_message_that_has_an_unknown_field_twice():
    raw = '{"messages":[{"role":"system","x":1,"content":"s","x":2e0}]}'
    body = read_body(raw.encode(), "messages")
    units = list(chat_units([item.value for item in body.listed.items]))
    made = outgoing("chat", body, units, [0], brought_back={}, system="more")
    assert made.text == raw.replace('"s"', '"s\\n\\nmore"')
