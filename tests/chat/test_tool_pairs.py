import pytest

from smart_context.chat.messages import Message, MessageId
from smart_context.chat.tool_pairs import (
    NO_CALLER,
    called_tools,
    find_tool_pairs,
    has_tool_calls,
    without_tool_calls,
)


def caller(*call_ids: str) -> Message:
    parts = tuple({"type": "tool_call", "tool_call_id": each} for each in call_ids)
    return Message(id=MessageId("a"), role="assistant", content=parts or "text")


def result(call_id: str | None = None) -> Message:
    extra = {} if call_id is None else {"tool_call_id": call_id}
    return Message(id=MessageId("r"), role="tool", content="r", extra=extra)


USER = Message(id=MessageId("u"), role="user", content="u")


@pytest.mark.parametrize(
    ("chat", "caller_of"),
    [
        pytest.param([USER, caller()], {}, id="no results"),
        pytest.param([caller("x"), USER, result("x")], {2: 0}, id="by its id, from afar"),
        pytest.param([caller("x"), caller("x"), result("x")], {2: 1}, id="the newest of that id"),
        pytest.param([caller("x"), result("x"), caller("x")], {1: 0}, id="never a later one"),
        pytest.param([USER, result("x")], {1: NO_CALLER}, id="an id that nobody used"),
        pytest.param([caller(), result(), result()], {1: 0, 2: 0}, id="without an id, by place"),
        pytest.param([caller("x"), USER, result()], {}, id="without an id, after a question"),
        pytest.param([result()], {}, id="without anything before it"),
    ],
)
def test_a_result_belongs_to_its_caller(chat, caller_of):
    assert find_tool_pairs(chat).caller_of == caller_of


def test_the_call_of_a_result_is_known_by_the_id_in_its_message_or_in_its_part():
    part = {"type": "tool-call", "tool_call_id": "x", "result": "found"}
    in_part = Message(id=MessageId("r"), role="tool", content=(part,))
    pairs = find_tool_pairs([caller("x", "y"), in_part, result("y"), result("z")])
    assert pairs.caller_of == {1: 0, 2: 0, 3: NO_CALLER}
    assert pairs.call_id_of == {1: "x", 2: "y"}


def test_some_calls_or_all_are_taken_out():
    message = caller("x", "y")
    assert without_tool_calls(message, {"x"}).content == caller("y").content
    assert without_tool_calls(message).content == ()
    assert has_tool_calls(message)
    assert not has_tool_calls(without_tool_calls(message))
    assert not has_tool_calls(caller())


def test_the_tools_that_a_message_calls_are_named_once():
    calls = [{"type": "tool_call", "tool_name": name} for name in ("read", "search", "read", None)]
    message = Message(id=MessageId("m"), role="assistant", content=tuple(calls))
    assert called_tools(message) == ("read", "search")
    assert called_tools(Message(id=MessageId("m"), role="user", content="read")) == ()
