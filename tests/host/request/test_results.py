"""Long results of tools in earlier turns keep within their share of the window."""

import pytest

from smart_context.chat.messages import Message, MessageId
from smart_context.host.request.shortening import RESULT_LEFT_OUT, with_results_within
from smart_context.host.request.window import RESULTS_SHARE, Window

WINDOW = Window(tokens=4_000, model="local", count=len)
ROOM = int(WINDOW.room * RESULTS_SHARE)


def answer(name, *results):
    calls = [{"type": "tool_call", "tool_call_id": name, "result": result} for result in results]
    content = (*calls, {"type": "text", "text": "Done. " * 500})
    return Message(id=MessageId(name), role="assistant", content=content)


def said(name, text="Hello", role="user"):
    return Message(id=MessageId(name), role=role, content=text)


def results(history):
    return [part["result"] for m in history for part in m.parts if part["type"] == "tool_call"]


def test_what_fits_stays_the_very_message():
    history = [said("q"), answer("a", "short", {"lines": 3}), said("t", "short", "tool")]
    assert all(a is b for a, b in zip(with_results_within(history, WINDOW), history, strict=True))


def test_the_newest_results_come_first_and_texts_stay():
    history = [answer("a", "short", "a" * 500), said("q"), answer("b", "b" * 500, "c" * 400)]
    less = with_results_within(history, WINDOW)
    short, first, second, third = results(less)
    assert short == "short"
    assert (second, third) == ("b" * 500, "c" * 400)
    assert first == RESULT_LEFT_OUT
    assert [m.text for m in less] == [m.text for m in history]
    assert results(history)[1] == "a" * 500


@pytest.mark.parametrize(
    "result",
    [
        pytest.param("x" * 5_000, id="text"),
        pytest.param(["x" * 5_000], id="an object"),
        pytest.param("好" * 5_000, id="Chinese"),
    ],
)
def test_a_long_one_is_cut_with_a_notice(result):
    (less,) = results(with_results_within([answer("a", result)], WINDOW))
    assert ROOM / 2 < len(less) <= ROOM
    assert "ask for a smaller part" in less


def test_a_message_of_its_own_is_cut_too():
    less = with_results_within([answer("a"), said("t", "x" * 5_000, "tool")], WINDOW)
    assert len(less[1].text) <= ROOM
