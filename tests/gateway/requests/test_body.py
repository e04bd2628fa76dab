import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context import gateway
from smart_context.gateway.requests.body import (
    READ_FIELDS,
    BodyRefused,
    BodyTooLong,
    has_more_values,
    read_body,
)
from smart_context.gateway.turns.reading import LIST_NAMES

GATEWAY = Path(gateway.__file__).parent

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def body_of(text, known=()):
    return read_body(text.encode("utf-8", "surrogatepass"), "messages", known)


@given(st.dictionaries(st.text(), VALUES, max_size=5), st.lists(VALUES, max_size=6))
def test_each_item_is_where_it_is_said_to_be(fields, items):
    text = json.dumps({**fields, "messages": items}, indent=1)
    body = body_of(text)
    assert [json.loads(part) for part in map(body.item_text, range(len(items)))] == items
    for name, span in body.fields.items():
        if name != "messages":
            assert json.loads(text[span.start : span.end]) == fields[name]


@given(st.dictionaries(st.text(), VALUES, max_size=5), VALUES)
def test_a_splice_changes_one_field_and_no_other(fields, value):
    body = body_of(json.dumps({**fields, "messages": [1]}, indent=1))
    changed = json.loads(body.spliced({"messages": json.dumps(value)}))
    assert changed == {**fields, "messages": value}


def test_what_is_not_changed_stays_the_same_text():
    text = '{ "n":1e0 ,"messages" : [ {"a":"\\u00e9"} ,2], "big": 123456789012345678901234567890}'
    assert body_of(text).spliced({"messages": "[]"}) == text.replace('[ {"a":"\\u00e9"} ,2]', "[]")


def test_a_number_beyond_all_floats_is_read_as_its_text():
    body = body_of('{"n": 1e400, "messages": [{"n": -1e999, "x": 1.5}]}')
    assert body.get("n") == "1e400"
    assert body.listed.items[0].value == {"n": "-1e999", "x": 1.5}


def test_a_missing_field_is_added():
    assert json.loads(body_of('{"a":1}').spliced({"instructions": '"x"'})) == {
        "a": 1,
        "instructions": "x",
    }
    assert body_of("{}").spliced({"instructions": '"x"'}) == '{"instructions":"x"}'


def test_a_list_that_goes_on_with_a_known_one_is_not_read_again():
    first = body_of('{"messages":[{"a":1},{"b":2}]}')
    second = body_of('{"messages":[{"a":1},{"b":2}, 3]}', [first.listed])
    assert second.known == 2
    assert [*map(second.item_text, range(3))] == ['{"a":1}', '{"b":2}', "3"]


def test_a_number_that_goes_on_is_another_item():
    first = body_of('{"messages":[1,2]}')
    assert body_of('{"messages":[1,23]}', [first.listed]).known == 0


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "expected an object"),
        (b"[]", "expected an object"),
        (b'{"messages":[1', "expected"),
        (b'{"messages":[1,]}', "expected"),
        (b'{"messages":[1 2]}', "expected"),
        (b'{"messages":[}', "expected"),
        (b'{"a":1,}', "name"),
        (b'{"a" 1}', "':'"),
        (b'{"a":1} x', "nothing may follow"),
        (b'{"messages":[],"messages":[]}', "'messages' is there twice"),
        (b'{"model":"a","messages":[],"model":"b"}', "'model' is there twice"),
        (b'{"a":NaN}', "NaN"),
        (b'{"a":"\x01"}', "control character"),
        (b'{"a":"\xff"}', "UTF-8"),
        pytest.param(b'{"a":' + b"[" * 300_000, "deep", id="deep"),
        pytest.param(b'{"messages":[' + b"[" * 300_000, "deep", id="a deep item"),
    ],
)
def test_what_is_no_json_object_is_refused(raw, words):
    with pytest.raises(BodyRefused, match=words):
        read_body(raw, "messages")


def test_a_field_that_we_do_not_read_may_be_there_twice():
    body = body_of('{"x":1e0, "x" : 2,"messages":[1],"x":[ 3 ]}')
    assert body.get("x") == [3]
    assert body.spliced({"messages": "[]"}) == '{"x":1e0, "x" : 2,"messages":[],"x":[ 3 ]}'


def test_the_fields_that_may_be_there_once_are_those_that_are_read():
    source = "".join(path.read_text("utf-8") for path in GATEWAY.rglob("*.py"))
    read = {*re.findall(r'body\.get\(\s*"(\w+)"', source), *LIST_NAMES.values(), "prompt_cache_key"}
    assert read == READ_FIELDS


def test_a_number_of_thousands_of_digits_is_read():
    digits = "9" * 100_000
    assert digits in body_of(f'{{"n":{digits},"messages":[]}}').spliced({"messages": "[1]"})


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"[" + b",".join([b"[]"] * 200) + b"]", id="lists"),
        pytest.param(b"[" + b",".join([b"{}"] * 200) + b"]", id="objects"),
        pytest.param(b"[" + b",".join([b'"\\""'] * 200) + b"]", id="texts"),
        pytest.param(b"[" + b",".join([b"1"] * 200) + b"]", id="numbers"),
        pytest.param(b'"\\\\",' * 200, id="texts that end in a backslash"),
        pytest.param(b'"",' * 1000, id="empty texts"),
    ],
)
def test_values_are_counted_without_reading_them(body):
    assert has_more_values(body, 100)
    assert not has_more_values(body, 10_000)


@pytest.mark.parametrize("text", ["[{," * 500, "\\" * 500 + ",[" * 500, '"' * 999 + "," * 999])
def test_what_is_within_a_text_is_no_value(text):
    assert not has_more_values(json.dumps([text, text]).encode(), 10)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b'{"messages":[' + b",".join([b"{}"] * 20_001) + b"]}", "messages: more than 20,000"),
        (b'{"messages":[{"x":[' + b",".join([b"1"] * 200_001) + b"]}]}", "200,000 JSON values"),
    ],
)
def test_a_body_of_too_much_is_refused(raw, words):
    with pytest.raises(BodyTooLong, match=words):
        read_body(raw, "messages")
