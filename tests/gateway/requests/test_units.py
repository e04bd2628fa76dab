import pytest

from smart_context.chat.messages import Message
from smart_context.gateway.requests.body import BodyRefused
from smart_context.gateway.requests.response_items import response_units
from smart_context.gateway.requests.units import chat_units, key_of

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
    with pytest.raises(BodyRefused, match=r"messages\[1\]"):
        list(chat_units([{"role": "user"}, "hello"]))


def reasoning(text):
    return {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}


def call(name):
    return {"type": "function_call", "call_id": name, "name": "look", "arguments": "{}"}


def result(name):
    return {"type": "function_call_output", "call_id": name, "output": "found"}


QUESTION = {"role": "user", "content": "Look"}
ANSWER = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}


@pytest.mark.parametrize(
    ("items", "sizes"),
    [
        ([QUESTION, reasoning("a"), ANSWER], [1, 2]),
        ([QUESTION, reasoning("a"), call("1"), call("2"), result("1"), result("2")], [1, 3, 1, 1]),
        ([reasoning("a"), call("1"), reasoning("b"), ANSWER], [2, 2]),
        ([ANSWER, ANSWER], [1, 1]),
        ([ANSWER, call("1"), result("1"), ANSWER], [2, 1, 1]),
        ([QUESTION, {"type": "web_search_call", "id": "w"}, ANSWER], [1, 2]),
    ],
)
def test_reasoning_is_never_parted_from_what_follows(items, sizes):
    units = list(response_units(items))
    assert [unit.size for unit in units] == sizes
    assert [unit.first for unit in units] == [sum(sizes[:at]) for at in range(len(sizes))]


def test_an_unknown_item_stays_with_what_it_is_part_of():
    units = list(response_units([QUESTION, {"type": "compaction", "x": 1}, ANSWER, QUESTION]))
    assert [unit.stays for unit in units] == [False, True, False]
