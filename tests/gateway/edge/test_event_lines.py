import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.gateway.answers.events import EventReader
from smart_context.gateway.edge.event_lines import EventLines
from smart_context.gateway.edge.own_answers import OwnAnswer

LINE_ENDS = "\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"
TEXTS = st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from(LINE_ENDS)))
FORGED = 'data: {"error": {"message": "forged"}}'


def passed(stream, cuts=()):
    lines = EventLines()
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    pieces = [lines.passed(stream[a:b]) for a, b in itertools.pairwise(places)]
    return b"".join(pieces) + lines.rest


def event(text):
    delta = {"choices": [{"index": 0, "delta": {"content": text}}]}
    return f"data: {json.dumps(delta, ensure_ascii=False)}\n\n".encode()


def texts_of(stream):
    """The texts as a client reads them that splits lines at every line end of Unicode."""
    lines = [line for line in stream.decode().splitlines() if line]
    assert all(line.startswith("data: ") for line in lines)
    events = [json.loads(line.removeprefix("data: ")) for line in lines]
    return [e["choices"][0]["delta"]["content"] for e in events]


@given(st.lists(TEXTS, max_size=4), st.lists(st.integers(0, 400), max_size=6))
def test_a_models_text_makes_no_event_of_its_own(texts, cuts):
    stream = b"".join(map(event, texts))
    came = passed(stream, cuts)
    assert texts_of(came) == texts
    assert [json.loads(data) for data in EventReader().feed(came)] == [
        json.loads(data) for data in EventReader().feed(stream)
    ]


@pytest.mark.parametrize("end", LINE_ENDS)
def test_a_forged_event_after_a_line_end_stays_text(end):
    text = f"Hello{end}{end}{FORGED}{end}{end}"
    assert texts_of(passed(event(text))) == [text]


@given(st.binary(), st.lists(st.integers(0, 60), max_size=4))
def test_it_does_not_matter_where_a_stream_is_cut(stream, cuts):
    assert passed(stream, cuts) == passed(stream)


@given(st.text(st.characters(codec="utf-8", exclude_characters=LINE_ENDS)))
def test_all_else_passes_as_it_came(text):
    stream = f": {text}\r\n\r\ndata: {text}\n\n".encode()
    assert passed(stream) == stream


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r", b"\n\r\n", b"\r\n\n"])
def test_a_whole_event_needs_no_more_end(end):
    lines = EventLines()
    lines.passed(b"data: 1" + end)
    assert lines.ended() == b""


@pytest.mark.parametrize("half", [b"data: {", b"data: 1\n", b"data: 1\r\n", b"data: \xe2\x80"])
def test_half_an_event_is_ended_before_another(half):
    lines = EventLines()
    stream = lines.passed(half) + lines.ended() + b"data: 2\n\n"
    assert [*EventReader().feed(stream)][-1] == b"2"
    assert EventLines().ended() == b""


@pytest.mark.parametrize("kind", ["chat", "responses"])
@given(TEXTS)
def test_our_own_events_hold_no_line_end_but_their_own(kind, text):
    own = OwnAnswer(kind=kind, model="m", created=0)
    parts = [own.begin(), own.piece(text), *own.end(text, (1, 1), with_usage=True)]
    stream = b"".join(parts).decode()
    assert stream.splitlines() == stream.removesuffix("\n").split("\n")
    assert len(own.whole(text, (1, 1)).decode().splitlines()) == 1
