"""What endpoints send, read byte by byte."""

import base64
import json
import struct
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.llm.failures import AnswerNotUnderstood
from smart_context.llm.models import ToolCall
from smart_context.llm.openai.replies import (
    ObjectEnd,
    StreamReader,
    VendorError,
    read_completion,
    read_vectors,
)

EVENTS = (
    ': a comment\r\n\r\ndata: {"choices": [{"delta": {"role": "assistant"}}]}\r\n\r\n'
    'data: {"choices": [{"delta": {"content": "Grüße\u2028"}}]}\n\n'
    'event: x\ndata:{"choices": [{"delta": {"content": " 语"}, "finish_reason": "stop"}]}\n\n'
    'data: {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}\n\n'
    "data: [DONE]\n\n"
).encode()


def read(chunks):
    reader = StreamReader()
    pieces = [piece for chunk in chunks for piece in reader.feed(chunk)]
    pieces += reader.last()
    return reader, pieces


@given(st.lists(st.integers(0, len(EVENTS))))
def test_a_stream_reads_the_same_however_it_is_cut(cuts):
    edges = [0, *sorted(cuts), len(EVENTS)]
    reader, pieces = read([EVENTS[a:b] for a, b in pairwise(edges)])
    assert [piece.text for piece in pieces] == ["Grüße\u2028", " 语", ""]
    assert pieces[-1].usage.prompt_tokens == 5
    assert reader.ended


@given(st.binary())
def test_any_bytes_are_pieces_or_one_of_two_errors(body):
    with suppress(AnswerNotUnderstood, VendorError):
        read([body])


def said(text):
    return f"data: {json.dumps({'choices': [{'delta': {'content': text}}]})}\n".encode()


def test_a_great_many_events_that_came_at_once_are_one_piece():
    reader = StreamReader()
    pieces = list(reader.feed(said("no ") * 1_000 + b"data: nonsense"))
    assert [len(piece.text) for piece in pieces] == [3_000]
    with pytest.raises(AnswerNotUnderstood, match="nonsense"):
        list(reader.feed(b"\n"))


def test_what_was_said_before_an_event_that_is_nonsense_is_passed_on():
    stream = StreamReader().feed(said("one") * 100 + b"data: nonsense\n" + said("two"))
    assert next(stream).text == "one" * 100
    with pytest.raises(AnswerNotUnderstood, match="nonsense"):
        next(stream)


def test_signs_of_life_are_no_characters():
    reader = StreamReader()
    list(reader.feed(b": wait\n\n" + said("") + said("語") + call(function={"arguments": "{}"})))
    assert reader.characters == 3


def call(**fragment):
    event = {"choices": [{"delta": {"tool_calls": [fragment]}}]}
    return f"data: {json.dumps(event)}\n".encode()


@pytest.mark.parametrize(
    "fragments",
    [
        pytest.param(
            [
                call(index=0, id="a", function={"name": "f", "arguments": '{"x"'}),
                call(index=1, id="b", function={"name": "g", "arguments": "{"}),
                call(index=0, function={"arguments": ": 1}"}),
                call(index=1, function={"arguments": "}"}),
            ],
            id="by index",
        ),
        pytest.param(
            [
                call(id="a", function={"name": "f", "arguments": '{"x"'}),
                call(function={"arguments": ": 1}"}),
                call(id="b", function={"name": "g", "arguments": "{}"}),
            ],
            id="one after another without an index",
        ),
        pytest.param(
            [
                call(index=0, id="a", function={"name": "f", "arguments": '{"x": 1}'}),
                call(index=0, id="b", function={"name": "g", "arguments": "{}"}),
            ],
            id="all with index 0",
        ),
        pytest.param(
            [
                call(index=0, id="a", function={"name": "f", "arguments": '{"x"'}),
                call(index=0, id="a", function={"arguments": ": 1}"}),
                call(index=1, id="b", function={"name": "g", "arguments": "{}"}),
            ],
            id="the id each time",
        ),
    ],
)
def test_fragments_of_tool_calls_are_put_together(fragments):
    _, pieces = read(fragments)
    assert pieces[-1].tool_calls == (
        ToolCall(id="a", name="f", arguments='{"x": 1}'),
        ToolCall(id="b", name="g", arguments="{}"),
    )


def completion(**message):
    return json.dumps({"choices": [{"message": message}]}).encode()


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param(completion(content="hi"), "hi", id="text"),
        pytest.param(completion(content=None), "", id="null"),
        pytest.param(completion(content=[{"type": "text", "text": "hi"}]), "hi", id="parts"),
        pytest.param(completion(content=None, refusal="no"), "no", id="a refusal"),
    ],
)
def test_an_answers_text_is_found(body, text):
    assert read_completion(body).text == text


@pytest.mark.parametrize(
    "message",
    [
        pytest.param({"content": "hi", "reasoning_content": "hm"}, id="reasoning_content"),
        pytest.param({"content": "hi", "reasoning": "hm"}, id="reasoning"),
        pytest.param({"content": "<think>hm</think>\n\nhi"}, id="the model's own marks"),
        pytest.param({"content": "hm\n</think>\n\nhi"}, id="the mark of its end alone"),
        pytest.param(
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                    {"type": "text", "text": "hi"},
                ]
            },
            id="a part of the content",
        ),
    ],
)
def test_what_a_model_thinks_aloud_is_no_part_of_its_answer(message):
    whole = read_completion(completion(**message))
    assert (whole.reasoning, whole.text) == ("hm", "hi")
    event = json.dumps({"choices": [{"delta": message, "finish_reason": "stop"}]})
    reader = StreamReader()
    pieces = [*reader.feed(f"data: {event}\n\n".encode()), *reader.last()]
    assert "".join(piece.reasoning for piece in pieces).strip() == "hm"
    assert "".join(piece.text for piece in pieces) == "hi"


@pytest.mark.parametrize("at_once", [False, True])
def test_what_was_shown_as_the_answer_is_taken_back_when_a_mark_ends_its_thoughts(at_once):
    said = ["The user wants ", "a number.", "\n</th", "ink>\n\nFo", "ur.", *[""] * 40]
    events = [json.dumps({"choices": [{"delta": {"content": text}}]}) for text in said]
    lines = [f"data: {event}\n\n".encode() for event in events]
    reader = StreamReader()
    pieces = [p for chunk in ([b"".join(lines)] if at_once else lines) for p in reader.feed(chunk)]
    (back,) = [place for place, piece in enumerate(pieces) if piece.takes_back]
    before = "".join(piece.text for piece in pieces[:back]) + pieces[back].reasoning
    assert before.strip() == "The user wants a number."
    assert "".join(piece.text for piece in pieces[back:]) == "Four."


def test_arguments_that_are_an_object_already_become_text():
    body = completion(tool_calls=[{"function": {"name": "f", "arguments": {"x": 1}}}])
    assert read_completion(body).tool_calls == (
        ToolCall(id="call_0", name="f", arguments='{"x": 1}'),
    )


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": 0}, {"prompt_tokens": "many"}, 5])
def test_usage_that_says_nothing_is_none(usage):
    body = json.dumps({"choices": [{"message": {"content": "x"}}], "usage": usage}).encode()
    assert read_completion(body).usage is None


@pytest.mark.parametrize(
    ("timings", "details", "cached"),
    [
        ({"cache_n": 236, "prompt_n": 1}, None, 236),
        ({"cache_n": 236, "prompt_n": 1}, {"cached_tokens": 200}, 200),
        ({"cache_n": 999}, None, None),
        ("soon", None, None),
    ],
)
def test_what_llama_cpp_knew_of_a_request_is_read_from_its_timings(timings, details, cached):
    usage = {"prompt_tokens": 237, "completion_tokens": 3}
    usage |= {"prompt_tokens_details": details} if details else {}
    event = {"choices": [], "usage": usage, "timings": timings}
    _, pieces = read([f"data: {json.dumps(event)}\n\ndata: [DONE]\n\n".encode()])
    assert pieces[-1].usage.cached_tokens == cached


def test_an_error_with_status_200_is_an_error():
    with pytest.raises(VendorError, match="out of memory"):
        read_completion(b'{"error": {"message": "out of memory"}}')


def test_rows_are_put_in_the_order_of_their_index():
    packed = base64.b64encode(struct.pack("<2f", 1.0, 2.0)).decode()
    rows = [{"index": 1, "embedding": packed}, {"index": 0, "embedding": [3, 4]}]
    assert read_vectors(json.dumps({"data": rows}).encode(), 2).tolist() == [[3, 4], [1, 2]]


@pytest.mark.parametrize("number", [1e300, 10**400], ids=["a large float", "a large int"])
def test_numbers_beyond_float32_are_refused(number):
    body = json.dumps({"data": [{"embedding": [number]}]}).encode()
    with pytest.raises(AnswerNotUnderstood):
        read_vectors(body, 1)


def test_a_body_nested_without_end_is_refused():
    with pytest.raises(AnswerNotUnderstood):
        read_completion(b"[" * 200_000)


@pytest.mark.parametrize("embedding", ["not base64!", "AAA=", {"a": 1}, ["x"], None, True])
def test_what_is_no_embedding_is_shown(embedding):
    body = json.dumps({"data": [{"embedding": embedding}]}).encode()
    with pytest.raises(AnswerNotUnderstood, match="embedding"):
        read_vectors(body, 1)


@pytest.mark.parametrize(
    ("pieces", "complete_after"),
    [
        (['{"1": "Bread"}', " and so on"], 1),
        (["```json\n{", '"1": "A } \\" {', ' b", "2": {"x": 1}', "}", "\n```"], 4),
        (["A name for {each group}: ", '{"1"', ': "Tea\\', '""}', " more"], 4),
        (["{}", ' {"1": "Tea"}'], 2),
        (['{"1": "Tea"', ', "2": "never closed'], None),
        (["no object at all", '"}"'], None),
    ],
)
def test_an_object_is_complete_when_it_closes(pieces, complete_after):
    end = ObjectEnd()
    reached = [end.reached(piece) for piece in pieces]
    assert (reached.index(True) + 1 if any(reached) else None) == complete_after


@given(st.dictionaries(st.text(), st.text() | st.integers(), min_size=1), st.integers(1, 7))
def test_whatever_an_object_holds_its_last_brace_ends_it(value, size):
    text = json.dumps(value, ensure_ascii=False)
    end = ObjectEnd()
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert [end.reached(piece) for piece in pieces] == [False] * (len(pieces) - 1) + [True]
