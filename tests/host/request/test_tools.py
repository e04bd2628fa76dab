"""Arguments of a model's tool calls, held against what the tool declares."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.host.request.tool_arguments import (
    MAX_CHARACTERS,
    MAX_DEPTH,
    ArgumentsInvalid,
    check_arguments,
    read_arguments,
)

EDIT = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "share": {"type": "number"},
        "mode": {"type": "string", "enum": ["add", "replace"]},
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"from": {"type": "integer"}, "text": {"type": ["string", "null"]}},
                "required": ["from"],
                "additionalProperties": False,
            },
        },
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "anything": {"type": "object"},
        "flag": {"type": "boolean"},
    },
    "required": ["path"],
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "a"},
        {"path": "a", "share": 1},
        {"path": "a", "share": 0.5, "mode": "add", "flag": False},
        {"path": "a", "lines": []},
        {"path": "a", "lines": [{"from": 1, "text": "x"}, {"from": 2, "text": None}]},
        {"path": "a", "labels": {"x": "y"}, "anything": {"deep": {"er": [1, None]}}},
    ],
)
def test_what_is_declared_passes(arguments):
    check_arguments(arguments, EDIT)


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ({"share": "half"}, 'share: expected number, found "half"'),
        ({"share": True}, "share: expected number, found true"),
        ({"share": 1e999}, "share: expected number, found Infinity"),
        ({"flag": 1}, "flag: expected boolean, found 1"),
        ({"mode": "ADD"}, 'mode: expected one of ["add", "replace"], found "ADD"'),
        ({"lines": "1"}, 'lines: expected array, found "1"'),
        ({"lines": {}}, "lines: expected array, found {}"),
        ({"lines": [{"from": 1}, 7]}, "lines[1]: expected object, found 7"),
        ({"lines": [{}]}, "lines[0].from: missing"),
        ({"lines": [{"from": 1.5}]}, "lines[0].from: expected integer, found 1.5"),
        ({"lines": [{"from": 1, "text": 2}]}, "lines[0].text: expected string or null, found 2"),
        ({"lines": [{"from": 1, "to": 2}]}, "lines[0].to: unknown; known are: from, text"),
        ({"labels": {"x": 1}}, "labels.x: expected string, found 1"),
        ({"labels": []}, "labels: expected object, found []"),
        ({"anything": None}, "anything: expected object, found null"),
        ({"what": 1}, "what: unknown; known are: path, share, mode, lines, labels, anything, flag"),
    ],
)
def test_what_is_not_declared_is_named_with_its_place(more, fault):
    with pytest.raises(ArgumentsInvalid) as refused:
        check_arguments({"path": "a", **more}, EDIT)
    assert str(refused.value) == fault


def test_all_faults_are_told_but_not_a_thousand():
    with pytest.raises(ArgumentsInvalid) as refused:
        check_arguments({"share": "", "flag": ""}, EDIT)
    assert str(refused.value).count(";") == 2
    with pytest.raises(ArgumentsInvalid) as refused:
        check_arguments({"path": "a", "lines": [0] * 1_000}, EDIT)
    assert str(refused.value).endswith("lines[7]: expected object, found 0; and more")


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"type": "object", "properties": {}}])
def test_a_tool_without_parameters_takes_none(schema):
    check_arguments({}, schema)
    with pytest.raises(ArgumentsInvalid, match="x: unknown; known are: none"):
        check_arguments({"x": 1}, schema)


def test_a_tool_may_take_other_arguments_than_it_names():
    check_arguments({"x": 1}, {"type": "object", "additionalProperties": True})


@given(JSON)
def test_no_value_is_more_than_a_fault(value):
    for name in EDIT["properties"]:
        with suppress(ArgumentsInvalid):
            check_arguments({"path": "a", name: value}, EDIT)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("{oops", "The arguments are not JSON", id="no JSON"),
        pytest.param("[1]", "not a JSON object", id="a list"),
        pytest.param("[" * 100_000, "not JSON", id="too deep to be read"),
        pytest.param('{"a":' * 40 + "1" + "}" * 40, "more than 32 levels", id="deep"),
        pytest.param(json.dumps({"a": "x" * MAX_CHARACTERS}), "at most 200,000", id="large"),
    ],
)
def test_arguments_that_no_tool_needs_are_refused(text, words):
    with pytest.raises(ArgumentsInvalid, match=words):
        read_arguments(text)


def test_arguments_may_be_as_deep_as_said():
    depth = MAX_DEPTH - 1
    read_arguments('{"a":' + "[" * depth + "]" * depth + "}")
    with pytest.raises(ArgumentsInvalid):
        read_arguments('{"a":' + "[" * MAX_DEPTH + "]" * MAX_DEPTH + "}")


@pytest.mark.parametrize("text", ["", " ", "{}"])
def test_nothing_is_no_arguments(text):
    assert read_arguments(text) == {}
