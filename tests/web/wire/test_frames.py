import asyncio
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from smart_context.web.limits import MAX_FRAME_BYTES, MAX_JSON_DEPTH
from smart_context.web.outcomes import CallResult, Failure, render_outcome
from smart_context.web.wire import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    CommandRequest,
    Invalid,
    JsonRefused,
    Notification,
    parse_frame,
    read_json,
    render_error,
    render_json,
    render_notification,
)

CALL = {"jsonrpc": "2.0", "id": 1, "method": "a.b", "params": {"x": 1}}


def call(**changes):
    return json.dumps({key: value for key, value in (CALL | changes).items() if value is not ...})


def nested(depth, opening="[", closing="]"):
    return opening * depth + closing * depth


@pytest.mark.parametrize(
    "request_id",
    [
        pytest.param("a", id="a string"),
        pytest.param("", id="an empty string"),
        pytest.param(7, id="an integer"),
        pytest.param(-1.5, id="a number with a fraction"),
        pytest.param(2**70, id="a very large integer"),
        pytest.param(None, id="null, which is an id too"),
    ],
)
def test_a_request_keeps_its_id(request_id):
    assert parse_frame(call(id=request_id)) == CommandRequest(
        id=request_id, method="a.b", params={"x": 1}
    )


def test_a_frame_without_id_is_a_notification():
    assert parse_frame(call(id=...)) == Notification(method="a.b", params={"x": 1})


def test_params_may_be_left_out():
    assert parse_frame(call(params=...)) == CommandRequest(id=1, method="a.b", params={})


def test_bytes_are_read_as_utf_8():
    raw = call(params={"text": "日本語"}).encode()
    assert parse_frame(raw) == CommandRequest(id=1, method="a.b", params={"text": "日本語"})


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param("", id="nothing"),
        pytest.param("{", id="half an object"),
        pytest.param("hello", id="words"),
        pytest.param("{'jsonrpc': '2.0'}", id="Python"),
        pytest.param(call()[:-1], id="a request cut off"),
        pytest.param(call() + "x", id="more after the request"),
        pytest.param('{"id": NaN}', id="NaN"),
        pytest.param('{"id": -Infinity}', id="minus infinity"),
        pytest.param('{"id": ' + "1" * 5000 + "}", id="an integer that Python won't read"),
        pytest.param("\ufeff" + call(), id="a byte order mark"),
        pytest.param(b"\xff\xfe", id="not UTF-8"),
        pytest.param(b'{"a": "\xc3"}', id="UTF-8 cut off"),
        pytest.param('"\ud800"', id="a raw surrogate"),
        pytest.param("[" * 100_000, id="brackets that are never closed"),
        pytest.param('{"a":' * 100_000, id="objects that are never closed"),
        pytest.param('"' + '\\"' * 100_000, id="a string that is never closed"),
    ],
)
def test_what_is_not_json_is_a_parse_error_without_id(raw):
    frame = parse_frame(raw)
    assert isinstance(frame, Invalid)
    assert (frame.code, frame.id, frame.is_silent) == (PARSE_ERROR, None, False)


@pytest.mark.parametrize(
    ("raw", "request_id"),
    [
        pytest.param("[]", None, id="an empty batch"),
        pytest.param(f"[{call()}]", None, id="a batch"),
        pytest.param("null", None, id="null"),
        pytest.param("true", None, id="true"),
        pytest.param("17", None, id="a number"),
        pytest.param('"a.b"', None, id="a string"),
        pytest.param("{}", None, id="an empty object"),
        pytest.param(call(jsonrpc=...), 1, id="no version"),
        pytest.param(call(jsonrpc="1.0"), 1, id="another version"),
        pytest.param(call(jsonrpc=2.0), 1, id="a version that is a number"),
        pytest.param(call(method=...), 1, id="no method"),
        pytest.param(call(method=3), 1, id="a method that is a number"),
        pytest.param(call(method=..., result=1), 1, id="a reply"),
        pytest.param(call(id=True), None, id="an id that is a truth value"),
        pytest.param(call(id=[1]), None, id="an id that is an array"),
        pytest.param(call(id={}), None, id="an id that is an object"),
        pytest.param('{"jsonrpc":"2.0","id":1e999,"method":"a"}', None, id="an infinite id"),
        pytest.param('{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}', None, id="a key twice"),
        pytest.param(nested(100_000), None, id="absurdly nested arrays"),
        pytest.param('{"a":' * 200 + "1" + "}" * 200, None, id="absurdly nested objects"),
    ],
)
def test_what_is_not_a_request_is_refused(raw, request_id):
    frame = parse_frame(raw)
    assert isinstance(frame, Invalid)
    assert (frame.code, frame.id, frame.is_silent) == (INVALID_REQUEST, request_id, False)


@pytest.mark.parametrize("params", [[], [1], "x", 5, None, False])
def test_params_must_be_an_object(params):
    frame = parse_frame(call(params=params))
    assert isinstance(frame, Invalid)
    assert (frame.code, frame.id, frame.is_silent) == (INVALID_PARAMS, 1, False)


def test_a_notification_with_bad_params_gets_no_reply():
    frame = parse_frame(call(id=..., params=[1]))
    assert isinstance(frame, Invalid)
    assert frame.is_silent


def test_nesting_is_taken_up_to_the_limit_and_not_beyond():
    at_limit = nested(MAX_JSON_DEPTH)
    assert read_json(at_limit) == json.loads(at_limit)
    with pytest.raises(JsonRefused, match="nested") as caught:
        read_json(nested(MAX_JSON_DEPTH + 1))
    assert caught.value.code == INVALID_REQUEST


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":[', "]}")])
def test_what_was_closed_does_not_count_towards_the_limit(opening, closing):
    depth = (MAX_JSON_DEPTH - 1) // (len(opening) // 3 or 1)
    part = nested(depth, opening, closing)
    at_limit = f"[{part},{part}]"
    assert read_json(at_limit) == json.loads(at_limit)


def test_the_codes_are_those_of_json_rpc():
    assert (PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS) == (-32700, -32600, -32602)


def test_an_error_says_what_is_wrong_and_nothing_else():
    frame = parse_frame(nested(1000))
    assert isinstance(frame, Invalid)
    assert frame.message == "nested too deeply: at most 100 levels are taken"


def test_objects_and_arrays_count_as_levels_alike():
    mixed = '{"a":[' * (MAX_JSON_DEPTH // 2 + 1) + "]}" * (MAX_JSON_DEPTH // 2 + 1)
    with pytest.raises(JsonRefused, match="nested"):
        read_json(mixed)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" * 500, id="brackets"),
        pytest.param('\\"' + "{" * 500, id="after an escaped quote"),
        pytest.param("\\\\" + "[{" * 500, id="after an escaped backslash"),
    ],
)
def test_brackets_in_a_string_are_no_nesting(text):
    assert read_json(json.dumps([text] * 2)) == [text] * 2


def test_many_values_beside_each_other_are_no_nesting():
    assert read_json("[" + "[]," * 500 + "{}]") == [[]] * 500 + [{}]


def test_a_large_frame_is_taken_and_a_larger_one_refused():
    fits = '"' + "a" * (MAX_FRAME_BYTES - 2) + '"'
    assert len(read_json(fits)) == MAX_FRAME_BYTES - 2
    for too_large in (
        fits + " ",
        (fits + " ").encode(),
        '"' + "é" * (MAX_FRAME_BYTES // 2) + '"',
        '"' + "é" * (MAX_FRAME_BYTES - 2) + '"',
    ):
        with pytest.raises(JsonRefused, match="8 MiB") as caught:
            read_json(too_large)
        assert caught.value.code == INVALID_REQUEST


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(r'"a\ud83db"', "a\ufffdb", id="a first half alone"),
        pytest.param(r'"a\ude00"', "a\ufffd", id="a second half alone"),
        pytest.param(r'"\ud83d\ude00"', "😀", id="a pair"),
        pytest.param(r'"\ud83d\ud83d\ude00"', "\ufffd😀", id="a half before a pair"),
        pytest.param(r'"\\ud83d"', r"\ud83d", id="a backslash, not an escape"),
        pytest.param(r'"\\\ud83d\n"', "\\\ufffd\n", id="a backslash, then an escape"),
        pytest.param(r'{"\uDEAD": 1}', {"\ufffd": 1}, id="in a key"),
    ],
)
def test_lone_surrogates_become_replacement_characters(raw, expected):
    assert read_json(raw) == expected


ids = st.none() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    ids | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.binary() | st.text() | values.map(json.dumps) | st.text('[]{}",:\\u d8a1').map(str))
@example('{"jsonrpc":"2.0","id":1e400,"method":"x"}')
@example("[" * 101 + "]" * 101)
def test_any_text_gives_one_frame_or_one_error(raw):
    frame = parse_frame(raw)
    if isinstance(frame, Invalid):
        reply = json.loads(render_error(frame.id, frame.code, frame.message))
        assert set(reply) == {"jsonrpc", "id", "error"}
        assert reply["error"]["code"] in {PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS}
    else:
        assert isinstance(frame, CommandRequest | Notification)
        assert isinstance(frame.params, dict)


@given(st.text('[]{}"\\,:1a', max_size=300))
def test_what_is_taken_is_what_a_json_parser_takes(text):
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(JsonRefused):
            read_json(text)
    else:
        assert read_json(text) == expected


@given(ids, st.dictionaries(st.text(), values, max_size=3))
def test_a_well_formed_request_comes_through_whole(request_id, params):
    raw = json.dumps(CALL | {"id": request_id, "params": params})
    frame = parse_frame(raw)
    assert isinstance(frame, CommandRequest)
    assert frame.id == request_id
    assert json.dumps(frame.params).encode() == json.dumps(read_json(json.dumps(params))).encode()


def test_replies_have_the_form_of_json_rpc():
    assert json.loads(render_error(None, -32700, "no")) == {
        "jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "no"},
    }  # fmt: skip
    assert json.loads(render_notification("chat.token", {"offset": 0})) == {
        "jsonrpc": "2.0", "method": "chat.token", "params": {"offset": 0},
    }  # fmt: skip


def test_what_is_rendered_is_ascii_so_its_length_is_its_size():
    assert render_json("日本\ud800").isascii()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {(1, 2): 3}, {1}])
def test_what_is_not_json_is_not_rendered(value):
    with pytest.raises(ValueError, match=r"."):
        render_json({"value": value})


def test_a_circle_is_not_rendered():
    circle = []
    circle.append(circle)
    with pytest.raises(ValueError, match="Circular"):
        render_json(circle)


branches = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(branches, branches, st.integers(0, 3))
def test_a_long_reply_is_the_same_as_a_short_one_would_be(rows, other, levels):
    value = {"a": [rows] * 700, "b": other, **{str(n): rows for n in range(700)}}
    for _ in range(levels):
        value = [value, other]
    told, _ = asyncio.run(render_outcome(CallResult(value), {"id": 1}))
    assert told == render_json({"id": 1, "result": value})


@pytest.mark.anyio
async def test_the_event_loop_goes_on_while_a_long_reply_is_written():
    turns = 0

    async def others():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(others())
    await asyncio.sleep(0)
    before = turns
    await render_outcome(CallResult([{"id": n} for n in range(20_000)]), {})
    beside.cancel()
    assert turns > before


@pytest.mark.anyio
async def test_a_long_reply_with_a_circle_fails_as_any_other():
    circle = [0] * 2_000
    circle.append(circle)
    _, told = await render_outcome(CallResult(circle), {})
    assert isinstance(told, Failure)
