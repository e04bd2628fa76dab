import pytest

from smart_context.chat.messages import Message
from smart_context.gateway.requests.body import BodyRefused
from smart_context.gateway.requests.units import chat_units, key_of, spoken_text, unit_of

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"a":1}'}}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}

MESSAGES = [
    pytest.param({"role": "user", "content": "Hi  there"}, id="text"),
    pytest.param({"role": "user", "content": [{"type": "text", "text": "a"}, IMAGE]}, id="image"),
    pytest.param({"role": "assistant", "content": None, "tool_calls": [CALL]}, id="call"),
    pytest.param({"role": "tool", "tool_call_id": "c1", "content": "found"}, id="result"),
    pytest.param({"role": "developer", "content": "Be brief"}, id="developer"),
    pytest.param({"role": "critic", "content": "Hm"}, id="unknown role"),
    pytest.param({"role": "assistant", "refusal": "No.", "content": None}, id="refusal"),
    pytest.param({}, id="nothing"),
]


@pytest.mark.parametrize("message", MESSAGES)
def test_a_stored_message_has_the_key_of_its_unit(message):
    (unit,) = chat_units([message])
    stored = Message.from_dict(unit.stored("m1", "2026-03-01T12:00:00Z"))
    assert key_of(stored) == unit.key
    assert stored.role == unit.role


def test_an_answer_sent_back_with_other_white_space_is_the_same():
    ours, theirs = chat_units(
        [{"role": "assistant", "content": "a\n\nb "}, {"role": "assistant", "content": "a b"}]
    )
    assert ours.key == theirs.key


def test_another_image_is_another_message():
    other = {"type": "image_url", "image_url": {"url": "data:image/png;base64,BBBB"}}
    one, two = chat_units([{"role": "user", "content": [part]} for part in (IMAGE, other)])
    assert one.key != two.key


def test_system_messages_and_unknown_roles_stay():
    stays = [unit.stays for unit in chat_units([{"role": r} for r in ("developer", "x", "user")])]
    assert stays == [True, True, False]


def test_an_entry_that_is_no_object_is_refused_by_its_place():
    with pytest.raises(BodyRefused, match=r"messages\[1\]: expected an object") as refused:
        list(chat_units([{"role": "user"}, "hello"]))
    assert refused.value.param == "messages[1]"
    with pytest.raises(BodyRefused, match=r"messages\[7\]"):
        list(chat_units(["hello"], first=7))


def text(said):
    return {"type": "text", "text": said}


def kept_by_client(name):
    return {"type": "info", "text": f"[{name}, kept by the client]"}


def stored_call(call_id, name, arguments):
    names = {"tool_call_id": call_id, "tool_name": name, "args": arguments}
    return {"type": "tool_call", "state": "call", **names}


def made(**function):
    return {"id": "c1", "function": function}


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        pytest.param({"content": "Hi"}, "Hi", id="text"),
        pytest.param({"content": None}, [], id="nothing"),
        pytest.param({"content": "", "refusal": "No."}, [text("No.")], id="refusal"),
        pytest.param({"content": "Hm", "refusal": "No."}, [text("Hm"), text("No.")], id="both"),
        pytest.param({"content": "Hm", "refusal": ["No."]}, [text("Hm")], id="odd refusal"),
        pytest.param(
            {"content": ["a", text("b"), {"type": "refusal", "refusal": "No."}, None]},
            [text("a"), text("b"), text("No.")],
            id="parts",
        ),
        pytest.param(
            {"content": [{"type": "input_image"}, {"type": "image_url"}, {"x": 1}, 5]},
            [kept_by_client(name) for name in ("image", "image", "part", "int")],
            id="what the client keeps",
        ),
        pytest.param({"content": [{"type": "my_odd"}]}, [kept_by_client("my odd")], id="a name"),
        pytest.param({"content": [{"refusal": 5}]}, [kept_by_client("part")], id="odd part"),
        pytest.param(
            {"content": "Hm", "tool_calls": [CALL]},
            [text("Hm"), stored_call("c1", "look", '{"a":1}')],
            id="a call",
        ),
        pytest.param(
            {
                "tool_calls": [
                    "odd",
                    {"id": "c1", "custom": {"name": "look", "input": "x"}},
                    {"id": "c2", "function": "odd"},
                    {},
                    made(name="look"),
                ]
            },
            [
                stored_call("c1", "look", "x"),
                stored_call("c2", "", ""),
                stored_call("", "", ""),
                stored_call("c1", "look", ""),
            ],
            id="calls of all kinds",
        ),
        pytest.param(
            {"function_call": {"name": "look", "arguments": "{}"}},
            [stored_call("", "look", "{}")],
            id="a call of the old kind",
        ),
        pytest.param({"function_call": {}}, [stored_call("", "", "")], id="without a name"),
        pytest.param({"content": "Hm", "function_call": "look"}, "Hm", id="an odd call"),
    ],
)
def test_what_a_client_sends_is_stored_as_text_and_parts(sent, stored):
    (unit,) = chat_units([{"role": "assistant", **sent}])
    document = unit.stored("m1", "2026-03-01T12:00:00Z")
    content = document["content"]
    assert type(content) in (str, list)
    if not isinstance(content, str):
        content = [
            {name: value for name, value in part.items() if name != "digest"} for part in content
        ]
    assert (document["role"], content) == ("assistant", stored)


@pytest.mark.parametrize(
    ("sent", "also"),
    [
        ({"role": "user"}, {}),
        ({"role": "developer"}, {"role": "system", "stays": True}),
        ({"role": "critic"}, {"role": "user", "stays": True}),
        ({"role": "tool", "tool_call_id": "c1"}, {"role": "tool", "tool_call_id": "c1"}),
        ({"role": "function", "tool_call_id": 5}, {"role": "tool"}),
        ({"role": "user", "tool_call_id": "c1"}, {}),
    ],
)
def test_a_stored_message_says_who_spoke_when_and_to_what_it_belongs(sent, also):
    (unit,) = chat_units([{"content": "Hi", **sent}])
    document = {"id": "m1", "role": "user", "content": "Hi", "created_at": "now"}
    assert unit.stored("m1", "now") == {**document, **also}


def test_a_unit_has_its_text_with_single_spaces_and_its_calls():
    (unit,) = chat_units(
        [{"role": "assistant", "content": [text("a \n b"), text("c")], "tool_calls": [CALL]}]
    )
    assert (unit.text, unit.calls, unit.result_of) == ("a b c", ("c1",), "")
    message = Message.from_dict(unit.stored("m1", ""))
    assert spoken_text(message) == "a b c"
    assert unit_of("user", "a  b", first=3).text == "a b"
    assert unit_of("user", "a", first=3) == unit_of("user", "a", first=3, size=1, result_of="")


@pytest.mark.parametrize(
    "other",
    [
        {"role": "assistant", "content": "Hi"},
        {"role": "user", "content": "Ho"},
        {"role": "user", "content": "Hi", "tool_calls": [CALL]},
        {"role": "user", "content": [text("Hi"), IMAGE]},
        {"role": "tool", "content": "Hi", "tool_call_id": "c1"},
    ],
)
def test_units_that_say_something_else_have_other_keys(other):
    one, two = chat_units([{"role": "user", "content": "Hi"}, other])
    assert one.key != two.key


def test_a_key_leaves_out_what_does_not_tell_messages_apart():
    (one,) = chat_units([{"role": "user", "content": [text("Hi"), {"type": "info"}, text(None)]}])
    assert one.text == "Hi"
    stored = [text("Hi"), {"type": "reasoning", "text": "why"}, {"type": "text"}]
    message = Message.from_dict({"id": "m", "role": "user", "content": stored})
    assert key_of(message) == unit_of("user", "Hi", first=0).key
    result = Message.from_dict({"id": "m", "role": "user", "content": "Hi", "tool_call_id": 5})
    assert key_of(result) == unit_of("user", "Hi", first=0).key


def test_a_lone_surrogate_has_a_key():
    one, two = chat_units([{"role": "user", "content": "\ud800"}] * 2)
    assert one.key == two.key
