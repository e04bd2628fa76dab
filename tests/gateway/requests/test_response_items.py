"""The units of `input` of the Responses API."""

import pytest

from smart_context.chat.messages import Message
from smart_context.gateway.requests.body import BodyRefused
from smart_context.gateway.requests.units import key_of, response_units


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


def text(said):
    return {"type": "text", "text": said}


def stored_call(name, arguments):
    names = {"tool_call_id": "1", "tool_name": name, "args": arguments}
    return {"type": "tool_call", "state": "call", **names}


def sent_call(**fields):
    return {"type": "function_call", "call_id": "1", "name": "look", **fields}


@pytest.mark.parametrize(
    ("items", "role", "content"),
    [
        pytest.param([QUESTION], "user", "Look", id="a bare message"),
        pytest.param([{"role": "developer", "content": "x"}], "system", "x", id="an instruction"),
        pytest.param([{"role": "critic", "content": "x"}], "user", "x", id="an unknown role"),
        pytest.param([ANSWER], "assistant", "x", id="an answer of one text"),
        pytest.param(
            [{"role": "user", "content": [text("a"), text("b")]}],
            "user",
            (text("a"), text("b")),
            id="two texts",
        ),
        pytest.param(
            [reasoning("why"), ANSWER],
            "assistant",
            ({"type": "reasoning", "text": "why"}, text("x")),
            id="an answer with its reasoning",
        ),
        pytest.param(
            [{"type": "reasoning", "summary": [{"text": "a"}, {"text": 5}, "b"]}],
            "assistant",
            ({"type": "reasoning", "text": "a"},),
            id="reasoning of which only a text is kept",
        ),
        pytest.param([{"type": "reasoning"}], "assistant", (), id="encrypted reasoning"),
        pytest.param(
            [sent_call(arguments="{}")], "assistant", (stored_call("look", "{}"),), id="a call"
        ),
        pytest.param(
            [{**sent_call(input="x"), "type": "custom_tool_call"}],
            "assistant",
            (stored_call("look", "x"),),
            id="a call of a custom tool",
        ),
        pytest.param(
            [{"type": "function_call"}],
            "assistant",
            ({**stored_call("", ""), "tool_call_id": ""},),
            id="a call without anything",
        ),
        pytest.param([result("1")], "tool", "found", id="a result"),
        pytest.param(
            [{**result("1"), "output": [text("a"), text("b")]}],
            "tool",
            (text("a"), text("b")),
            id="a result of parts",
        ),
    ],
)
def test_an_item_is_stored_as_a_chat_has_it(items, role, content):
    (unit,) = response_units(items)
    assert (unit.role, unit.content) == (role, content)
    assert unit.size == len(items)
    stored = Message.from_dict(unit.stored("m", ""))
    assert key_of(stored) == unit.key


def test_an_unknown_item_is_kept_by_the_client_and_told_from_others():
    one, two = (next(response_units([{"type": "compaction", "x": x}])) for x in (1, 2))
    assert one.content[0]["text"] == "[compaction, kept by the client]"
    assert one.stays
    assert one.key != two.key


def test_a_result_names_its_call_and_a_call_its_own():
    asks, found, nameless = response_units([call("c1"), result("c1"), {**result(""), "call_id": 0}])
    assert asks.calls == (found.result_of,) == ("c1",)
    assert nameless.result_of == ""


@pytest.mark.parametrize(
    ("items", "sizes"),
    [
        pytest.param([call("1"), reasoning("a"), ANSWER], [1, 2], id="reasoning begins another"),
        pytest.param([reasoning("a"), reasoning("b"), ANSWER], [3], id="but not after reasoning"),
        pytest.param([call("1"), ANSWER], [1, 1], id="a message after a call is another"),
        pytest.param([reasoning("a"), call("1"), ANSWER], [3], id="unless they were reasoned"),
        pytest.param([result("1"), result("2")], [1, 1], id="each result is its own"),
    ],
)
def test_what_belongs_to_one_answer_is_one_unit(items, sizes):
    assert [unit.size for unit in response_units(items)] == sizes


def test_places_count_from_the_first_item_that_is_given():
    units = list(response_units([QUESTION, reasoning("a"), ANSWER], first=7))
    assert [(unit.first, unit.size) for unit in units] == [(7, 1), (8, 2)]
    with pytest.raises(BodyRefused, match=r"input\[8\]: expected an object") as refused:
        list(response_units([QUESTION, "hello"], first=7))
    assert refused.value.param == "input[8]"


class Counted(dict):
    """An item that counts how often it is looked at."""

    looks = 0

    def get(self, *given):
        Counted.looks += 1
        return super().get(*given)


@pytest.mark.parametrize(
    "kind", ["reasoning", "function_call", "function_call_output", "message", "x" * 100_000]
)
def test_work_grows_with_the_number_of_items_and_no_faster(kind):
    looks = []
    for count in (500, 1000):
        Counted.looks = 0
        items = [Counted(type=kind, role="assistant", content="x", call_id="c")] * count
        list(response_units(items))
        looks.append(Counted.looks)
    assert looks[1] <= 2.2 * looks[0]
