import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.gateway.answers.gathered import (
    LARGEST_BODY,
    MOST_CALLS,
    MOST_CHOICES,
    BodyGatherer,
    StreamGatherer,
)
from smart_context.gateway.edge.own_answers import OwnAnswer
from smart_context.llm.models import Usage


def stream(*events, done=True):
    gatherer = StreamGatherer()
    data = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    said = gatherer.feed(data + (b"data: [DONE]\n\n" if done else b"")) + gatherer.close()
    return said, gatherer.answer


def delta(number=0, finish=None, **said):
    choice = {"index": number, "delta": said, "finish_reason": finish}
    return {"id": "x", "model": "m", "choices": [choice]}


def test_text_of_chunks_is_gathered():
    said, answer = stream(delta(content="Hel"), delta(content="lo"), delta(finish="stop"))
    assert said == "Hello" == answer.first.text
    assert answer.is_whole
    assert (answer.response, answer.model) == ("x", "m")


def test_usage_in_a_chunk_of_its_own_is_gathered():
    usage = {"prompt_tokens": 5, "completion_tokens": 2}
    _, answer = stream(delta(content="a"), {"choices": [], "usage": usage})
    assert answer.usage == Usage(prompt_tokens=5, completion_tokens=2)


def test_calls_in_fragments_are_joined():
    first = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": '{"a"'}}
    second = {"index": 0, "function": {"arguments": ":1}"}}
    _, answer = stream(delta(tool_calls=[first]), delta(tool_calls=[second]))
    (part,) = answer.first.content()
    assert (part["tool_call_id"], part["tool_name"], part["args"]) == ("c1", "look", '{"a":1}')


def test_each_choice_is_an_answer():
    said, answer = stream(delta(0, content="a"), delta(1, content="b"), delta(0, content="c"))
    assert said == "ac"
    assert [answer.choices[number].text for number in (0, 1)] == ["ac", "b"]


@pytest.mark.parametrize(
    ("reason", "ending"),
    [("content_filter", "filtered"), ("length", "cut_off"), ("stop", ""), (["length"], "")],
)
def test_each_choice_says_how_it_ended_early(reason, ending):
    _, answer = stream(delta(0, content="a"), delta(1, content="b"), delta(1, finish=reason))
    assert [answer.choices[number].ending for number in (0, 1)] == ["", ending]


@pytest.mark.parametrize(
    ("details", "ending"),
    [
        ({"reason": "content_filter"}, "filtered"),
        ({"reason": "max_output_tokens"}, "cut_off"),
        (None, ""),
        ("content_filter", ""),
    ],
)
def test_a_response_says_how_it_ended_early(details, ending):
    response = {"object": "response", "status": "incomplete", "incomplete_details": details}
    _, answer = stream({"type": "response.incomplete", "response": response})
    assert answer.first.ending == ending


def test_an_error_in_mid_stream_is_noted():
    _, answer = stream(delta(content="a"), {"error": {"message": "overloaded"}}, done=False)
    assert answer.error == "overloaded"
    assert not answer.is_whole


def test_nonsense_is_passed_over():
    gatherer = StreamGatherer()
    said = gatherer.feed(b'data: {"cho\n\ndata: []\n\ndata: {"choices": [5, {"delta": 7}]}\n\n')
    assert said == ""
    assert BodyGatherer().close() == ""


def test_a_response_is_gathered_from_its_events():
    item = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
    message = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Hi"}],
    }
    response = {"id": "resp_1", "object": "response", "status": "completed", "model": "m"}
    usage = {"input_tokens": 4, "output_tokens": 2}
    said, answer = stream(
        {"type": "response.created", "response": {**response, "status": "in_progress"}},
        {"type": "response.output_text.delta", "delta": "Hi"},
        {
            "type": "response.completed",
            "response": {**response, "output": [message, item], "usage": usage},
        },
        done=False,
    )
    assert said == "Hi"
    assert answer.is_whole
    assert answer.response == "resp_1"
    assert answer.usage == Usage(prompt_tokens=4, completion_tokens=2)
    assert answer.first.call_ids == ("c1",)


def test_our_own_answers_are_read_as_a_providers():
    for kind, cached in (("chat", None), ("responses", 0)):  # only the latter have to say it
        own = OwnAnswer(kind=kind, model="m", created=1)
        whole = BodyGatherer()
        whole.feed(own.whole("Hello there", (3, 2)))
        assert whole.close() == "Hello there"
        streamed = StreamGatherer()
        events = [own.begin(), own.piece("Hello "), own.piece("there")]
        events += own.end("Hello there", (3, 2), with_usage=True)
        assert "".join(map(streamed.feed, events)) == "Hello there"
        assert (
            whole.answer.usage
            == streamed.answer.usage
            == Usage(prompt_tokens=3, completion_tokens=2, cached_tokens=cached)
        )
        assert streamed.answer.is_whole


@pytest.mark.parametrize("kind", ["chat", "responses"])
@pytest.mark.parametrize("ending", ["cut_off", "filtered", ""])
def test_our_own_answers_say_how_they_ended_early_as_a_provider_does(kind, ending):
    own = OwnAnswer(kind=kind, model="m", created=1)
    own.ending = ending
    whole, streamed = BodyGatherer(), StreamGatherer()
    whole.feed(own.whole("Half", (3, 2)))
    whole.close()
    for event in (own.begin(), own.piece("Half"), *own.end("Half", (3, 2), with_usage=False)):
        streamed.feed(event)
    assert [answer.first.ending for answer in (whole.answer, streamed.answer)] == [ending] * 2
    assert streamed.answer.is_whole


def test_half_a_character_leaves_our_own_answers_readable():
    own = OwnAnswer(kind="chat", model="m", created=1)
    said = json.loads(own.whole("a\ud800b", (1, 1)))
    assert said["choices"][0]["message"]["content"] == "a\ufffdb"
    assert own.piece("\ud800").decode()


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999", "9" * 5000])
def test_numbers_that_no_chat_can_hold_are_kept_as_text(number):
    call = '{"type":"function_call","call_id":"c","name":"n","arguments":{"a":' + number + "}}"
    gatherer = BodyGatherer()
    gatherer.feed(f'{{"object":"response","status":"completed","output":[{call}]}}'.encode())
    gatherer.close()
    (part,) = gatherer.answer.first.content()
    assert part["args"] == {"a": number}


KEYS = st.sampled_from(
    [
        *("type", "status", "error", "usage", "output", "item", "delta", "index", "role"),
        *("content", "tool_calls", "function", "arguments", "call_id", "summary", "text"),
    ]
)
ODD = st.recursive(
    st.sampled_from([None, True, -1, 1.5, "", "text", "function_call", "message"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(
    st.sampled_from(["response.completed", "response.output_item.done", "error", "other"]),
    st.dictionaries(KEYS, ODD, max_size=6),
    st.dictionaries(KEYS, ODD, max_size=6),
)
def test_nothing_that_a_provider_says_breaks_its_answer_off(kind, outer, inner):
    answers = [
        {**outer, "type": kind, "response": inner, "item": inner},
        {**inner, "object": "response"},
        {"choices": [{**outer, "delta": inner}, inner], **outer},
    ]
    _, streamed = stream(*answers)
    for answer in answers:
        gatherer = BodyGatherer()
        gatherer.feed(json.dumps(answer).encode())
        gatherer.close()
        json.dumps([gatherer.answer.first.content(), gatherer.answer.first.call_ids])
    assert streamed.is_whole


def test_a_status_that_is_no_word_is_passed_over():
    _, answer = stream({"object": "response", "status": {"of": "nothing"}}, done=False)
    assert answer.is_whole


@pytest.mark.parametrize("inside", [b"[]", b"{}", b'""', b"1"])
def test_an_answer_of_too_many_values_passes_unread(inside):
    gatherer = BodyGatherer()
    said = b'{"role":"assistant","content":"Hi"}'
    many = b",".join([inside] * 500_001)
    gatherer.feed(b'{"choices":[{"index":0,"message":' + said + b'}],"x":[' + many + b"]}")
    assert gatherer.close() == ""


def test_more_choices_and_calls_than_anybody_asks_for_are_not_kept():
    said = [{"choices": [{"index": n, "delta": {"content": f"{n} "}}]} for n in range(5000)]
    calls = [
        {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": n, "id": f"c{n}"}]}}]}
        for n in range(5000)
    ]
    items = [
        {
            "type": "response.output_item.done",
            "item": {"type": "function_call", "call_id": f"c{n}", "name": "f", "arguments": "{}"},
        }
        for n in range(5000)
    ]
    _, answer = stream(*said, *calls)
    assert len(answer.choices) == MOST_CHOICES
    assert answer.first.text == "0 "
    assert answer.first.call_ids == tuple(f"c{n}" for n in range(MOST_CALLS))
    _, response = stream(*items)
    assert len(response.first.call_ids) == MOST_CALLS


def test_arguments_in_many_pieces_are_joined_once():
    pieces = [f"{n}," for n in range(5000)]
    events = [
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}}]}
        for piece in pieces
    ]
    _, answer = stream(*events)
    assert answer.first.content()[0]["args"] == "".join(pieces)
    assert len(answer.first.calls[0].arguments) == len(pieces), "no piece is copied again"


def test_a_body_that_is_too_large_passes_unread():
    gatherer = BodyGatherer()
    for piece in (b'{"choices":[],"x":"', b"x" * LARGEST_BODY, b"y", b'"}'):
        gatherer.feed(piece)
    assert gatherer.close() == ""
