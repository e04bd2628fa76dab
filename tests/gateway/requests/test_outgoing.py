import json

from smart_context.chat.messages import Message
from smart_context.gateway.requests.body import read_body
from smart_context.gateway.requests.outgoing import kept_units, outgoing
from smart_context.gateway.requests.response_items import response_units
from smart_context.gateway.requests.units import chat_units
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
    return kept_units(list(chat_units(messages)), [str(at) for at in range(len(messages))], ids)


def test_nothing_left_out_and_nothing_added_is_the_same_text():
    raw, made = sent([system("s"), user("q")], [0, 1])
    assert made.text == raw
    assert made.count == 2


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
