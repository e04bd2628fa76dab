import json
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.web.outbox import STATE_EVENTS, Frame, Outbox, event_frame


def token(offset, text, message_id="m", chat_id="c"):
    payload = {"chat_id": chat_id, "message_id": message_id, "offset": offset, "text": text}
    return event_frame("chat.token", payload)


def drained(outbox):
    frames = []
    while (text := outbox.take()) is not None:
        frames.append(json.loads(text))
    return frames


def events(outbox):
    return [(frame["method"], frame["params"]) for frame in drained(outbox)]


def test_an_empty_outbox_has_nothing_to_take():
    assert Outbox().take() is None


def test_frames_come_out_in_the_order_in_which_they_went_in():
    outbox = Outbox()
    for number in range(5):
        outbox.put(event_frame("chat.started", {"number": number}))
    assert [params["number"] for _, params in events(outbox)] == [0, 1, 2, 3, 4]


def test_the_end_of_an_extraction_is_not_replaced_by_the_next_one():
    outbox = Outbox()
    states = ["running", "superseded", "running", "done"]
    for state in states:
        outbox.put(event_frame("smart_context.extraction", {"chat_id": "c", "state": state}))
    assert [params["state"] for _, params in events(outbox)] == states


@pytest.mark.parametrize("event", sorted(STATE_EVENTS))
def test_a_newer_state_takes_the_place_of_the_older_one_of_its_chat(event):
    outbox = Outbox()
    for chat_id, version in (("a", 1), ("b", 1), ("a", 2), ("a", 3)):
        outbox.put(event_frame(event, {"chat_id": chat_id, "version": version}))
    assert events(outbox) == [
        (event, {"chat_id": "b", "version": 1}),
        (event, {"chat_id": "a", "version": 3}),
    ]


def test_states_of_different_kinds_do_not_replace_each_other():
    outbox = Outbox()
    for event in STATE_EVENTS:
        outbox.put(event_frame(event, {"chat_id": "a"}))
    assert len(events(outbox)) == len(STATE_EVENTS)


def test_a_newer_state_does_not_overtake_what_came_before_it():
    outbox = Outbox()
    outbox.put(event_frame("memory.chat_changed", {"chat_id": "a"}))
    outbox.put(event_frame("chat.finished", {"chat_id": "a"}))
    outbox.put(event_frame("memory.chat_changed", {"chat_id": "a"}))
    assert [event for event, _ in events(outbox)] == ["chat.finished", "memory.chat_changed"]


def test_a_state_that_was_taken_is_not_replaced():
    outbox = Outbox()
    outbox.put(event_frame("memory.chat_changed", {"chat_id": "a"}))
    assert outbox.take()
    outbox.put(event_frame("memory.chat_changed", {"chat_id": "a"}))
    assert outbox.take()


def test_the_pieces_of_an_answer_are_joined_while_they_wait():
    outbox = Outbox()
    for offset, text in ((3, "ab"), (5, "日本"), (7, "\n😀")):
        outbox.put(token(offset, text))
    [(event, params)] = events(outbox)
    assert event == "chat.token"
    assert params == {"chat_id": "c", "message_id": "m", "offset": 3, "text": "ab日本\n😀"}


def test_a_single_piece_is_sent_as_it_was_rendered():
    outbox = Outbox()
    frame = token(0, "ab")
    outbox.put(frame)
    assert outbox.take() is frame.text


def test_pieces_of_answers_that_are_written_at_once_are_joined_to_their_own():
    outbox = Outbox()
    for offset in range(3):
        outbox.put(token(offset, "a", message_id="m"))
        outbox.put(token(offset, "b", message_id="n"))
    assert [params["text"] for _, params in events(outbox)] == ["aaa", "bbb"]


def test_pieces_that_do_not_follow_each_other_stay_apart():
    outbox = Outbox()
    outbox.put(token(0, "ab"))
    outbox.put(token(5, "cd"))
    outbox.put(token(7, "ef"))
    outbox.put(token(0, "gh"))
    spans = [(params["offset"], params["text"]) for _, params in events(outbox)]
    assert spans == [(0, "ab"), (5, "cdef"), (0, "gh")]


def test_a_piece_is_not_joined_across_another_event():
    outbox = Outbox()
    outbox.put(token(0, "ab"))
    outbox.put(event_frame("chat.started", {"chat_id": "c"}))
    outbox.put(token(2, "cd"))
    outbox.put(event_frame("chat.finished", {"chat_id": "c"}))
    names = [event for event, _ in events(outbox)]
    assert names == ["chat.token", "chat.started", "chat.token", "chat.finished"]


def test_a_piece_without_text_or_offset_is_sent_like_any_event():
    outbox = Outbox()
    outbox.put(event_frame("chat.token", {"text": "a"}))
    outbox.put(event_frame("chat.token", {"offset": 1, "text": None}))
    assert len(events(outbox)) == 2


def test_only_pieces_of_answers_are_joined():
    outbox = Outbox()
    for offset, text in ((0, "a"), (1, "b")):
        payload = {"chat_id": "c", "message_id": "m", "offset": offset, "text": text}
        outbox.put(event_frame("plugin.token", payload))
    assert len(events(outbox)) == 2


def test_a_full_outbox_takes_no_more():
    outbox = Outbox(max_bytes=1000)
    assert outbox.put(Frame("x" * 2000))
    assert not outbox.put(Frame("y"))
    assert outbox.take() == "x" * 2000
    assert outbox.take() is None
    assert outbox.put(Frame("y"))


def test_joined_pieces_fill_the_outbox_too():
    outbox = Outbox(max_bytes=10_000)
    taken = 0
    while outbox.put(token(taken, "x")):
        taken += 1
        assert taken < 10_000
    assert len(outbox) == 1


def test_many_small_frames_fill_the_outbox_too():
    outbox = Outbox(max_bytes=10_000)
    taken = 0
    while outbox.put(Frame("x")):
        taken += 1
        assert taken < 100


def test_states_that_replace_each_other_never_fill_the_outbox():
    outbox = Outbox(max_bytes=1000)
    for version in range(1000):
        assert outbox.put(event_frame("memory.chat_changed", {"chat_id": "a", "v": version}))


chats = st.sampled_from("ab")
actions = st.one_of(
    st.just(("take",)),
    st.tuples(st.just("token"), chats, st.text(min_size=1, max_size=3)),
    st.tuples(st.just("state"), chats, st.sampled_from(sorted(STATE_EVENTS))),
    st.tuples(st.just("fixed"), chats),
)


scripts = st.lists(actions, max_size=60)


def frame_of(serial, written, kind, chat_id, detail=None):
    if kind == "token":
        frame = token(len(written[chat_id]), detail, chat_id=chat_id)
        written[chat_id] += detail
        return frame
    event = detail if kind == "state" else "chat.finished"
    return event_frame(event, {"chat_id": chat_id, "serial": serial})


def delivered(script):
    """What went in and what came out, when a client reads as slowly as the script says."""
    outbox, sent, got = Outbox(), [], []
    written = defaultdict(str)
    for serial, (kind, *rest) in enumerate(script):
        if kind == "take":
            text = outbox.take()
            got += [] if text is None else [json.loads(text)]
        else:
            frame = frame_of(serial, written, kind, *rest)
            sent.append(json.loads(frame.text))
            assert outbox.put(frame)
    got += drained(outbox)
    assert outbox.size == 0
    return sent, got


@given(scripts)
def test_answers_come_whole_and_without_gaps(script):
    sent, got = delivered(script)
    assert answers(got) == answers(sent)


@given(scripts)
def test_other_events_come_once_each_and_in_order(script):
    sent, got = delivered(script)
    assert finishes(got) == finishes(sent)
    serials = [frame["params"]["serial"] for frame in got if "serial" in frame["params"]]
    assert serials == sorted(serials)


@given(scripts)
def test_of_each_state_the_newest_comes_last(script):
    sent, got = delivered(script)
    assert newest_states(got) == newest_states(sent)


@given(scripts, chats)
def test_an_answer_is_there_before_it_is_said_to_be_finished(script, chat_id):
    sent, got = delivered(script)
    assert _text_before_each_finish(got, chat_id) == _text_before_each_finish(sent, chat_id)


def answers(frames):
    texts = defaultdict(str)
    for frame in frames:
        if frame["method"] == "chat.token":
            params = frame["params"]
            assert params["offset"] == len(texts[params["chat_id"]])
            texts[params["chat_id"]] += params["text"]
    return texts


def finishes(frames):
    return [frame for frame in frames if frame["method"] == "chat.finished"]


def newest_states(frames):
    return {
        (frame["method"], frame["params"]["chat_id"]): frame
        for frame in frames
        if frame["method"] in STATE_EVENTS
    }


def _text_before_each_finish(frames, chat_id):
    """How much of a chat's answer was there at each of its `chat.finished`."""
    lengths, length = [], 0
    for frame in frames:
        if frame["params"]["chat_id"] != chat_id:
            continue
        if frame["method"] == "chat.token":
            length += len(frame["params"]["text"])
        elif frame["method"] == "chat.finished":
            lengths.append(length)
    return lengths
