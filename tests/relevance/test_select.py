import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.chat.messages import Message
from smart_context.relevance.reasons import OUT, Reason, ReasonKind
from smart_context.relevance.score import Scores
from smart_context.relevance.select import select_messages


def message(number, role=None, content=None, **extra):
    role = role or ("user" if number % 2 else "assistant")
    return Message(id=f"m{number}", role=role, content=content or f"text {number}", extra=extra)


def chat(count):
    return [message(number) for number in range(1, count + 1)]


def kept(messages, scores, **rules):
    found = None if scores is None else np.array(scores, dtype=np.float32)
    return list(select_messages(messages, scores=found, **rules).kept)


@pytest.mark.parametrize(
    ("scores", "rules", "expected"),
    [
        pytest.param([0.5, 0.1, 0.6, 0.2], {}, ["m1", "m3"], id="what reaches the threshold"),
        pytest.param(
            [0.4, 0.39, 0.0, 0.0], {"threshold": 0.4}, ["m1"], id="a score equal to the threshold"
        ),
        pytest.param(
            [0.7, 0.0, 0.0, 0.0],
            {"threshold": 0.7},
            ["m1"],
            id="a score that float32 rounds below an equal threshold",
        ),
        pytest.param(
            [0.5, 0.1, 0.1, 0.1], {"sticky": {"m3"}}, ["m1", "m3"], id="sticky beside the relevant"
        ),
        pytest.param(
            [0.5, 0.1, 0.1, 0.1], {"pinned": {"m4"}}, ["m1", "m4"], id="pinned beside the relevant"
        ),
        pytest.param([0.5, 0.1, 0.1, 0.1], {"recent": 2}, ["m1", "m3", "m4"], id="the newest two"),
        pytest.param(
            [0.1, 0.5, 0.1, 0.1], {"keep_pairs": True}, ["m1", "m2"], id="a question of an answer"
        ),
        pytest.param(
            [0.5, 0.1, 0.1, 0.1], {"keep_pairs": True}, ["m1"], id="no answer of a question"
        ),
        pytest.param([0.1, 0.5, 0.1, 0.1], {}, ["m2"], id="an answer alone without keep_pairs"),
        pytest.param(
            [0.5, 0.6, 0.1, 0.1],
            {"hidden": {"m1"}},
            ["m2"],
            id="not what is hidden though relevant",
        ),
        pytest.param(
            [0.5, 0.6, 0.1, 0.1],
            {"hidden": {"m1", "m3"}, "sticky": {"m1"}, "pinned": {"m3"}},
            ["m2"],
            id="not what is hidden though sticky or pinned",
        ),
        pytest.param(
            [0.1, 0.5, 0.1, 0.1],
            {"keep_pairs": True, "hidden": {"m1"}},
            ["m2"],
            id="not a hidden question of a kept answer",
        ),
        pytest.param(
            [0.5, 0.1, 0.1, 0.6],
            {"keep_pairs": True, "hidden": {"m4"}},
            ["m1"],
            id="not the question of a hidden answer",
        ),
        pytest.param(
            [0.5, 0.1, 0.1, 0.1],
            {"sticky": {"m1"}, "pinned": {"m1"}, "recent": 9},
            ["m1", "m2", "m3", "m4"],
            id="each message once however many reasons it has",
        ),
        pytest.param(
            [0.5, 0.1, 0.1, 0.1], {"sticky": {"gone"}}, ["m1"], id="no id that is not in the chat"
        ),
    ],
)
def test_a_filter_keeps(scores, rules, expected):
    assert kept(chat(4), scores, **rules) == expected


@pytest.mark.parametrize(
    ("scores", "rules"),
    [
        pytest.param([0.1, 0.2, 0.3], {}, id="nothing reaches the threshold"),
        pytest.param([0.1, 0.2, 0.3], {"sticky": {"m1"}}, id="something is sticky"),
        pytest.param([0.9, 0.2, 0.3], {"sticky": {"m1"}}, id="only a sticky one reaches it"),
        pytest.param([0.1, 0.2, 0.3], {"pinned": {"m1"}}, id="something is pinned"),
        pytest.param([0.1, 0.2, 0.3], {"recent": 2}, id="something is recent"),
        pytest.param([float("nan")] * 3, {}, id="scores are not numbers"),
    ],
)
def test_everything_stays_as_a_fallback_when(scores, rules):
    selection = select_messages(chat(3), scores=np.array(scores, dtype=np.float32), **rules)
    assert selection.fell_back
    assert selection.kept == ("m1", "m2", "m3")
    assert {reason.kind for reason in selection.reasons.values()} == {ReasonKind.FALLBACK}


def test_a_recent_message_that_reaches_the_threshold_itself_prevents_the_fallback():
    selection = select_messages(
        chat(3), scores=np.array([0.1, 0.1, 0.9], dtype=np.float32), recent=1
    )
    assert not selection.fell_back
    assert selection.kept == ("m3",)


@pytest.mark.parametrize(
    "scores",
    [pytest.param(None, id="no filter"), pytest.param([0.0] * 3, id="fallback")],
)
def test_hidden_messages_stay_out_even_when_everything_else_stays(scores):
    assert kept(chat(3), scores, hidden={"m2"}) == ["m1", "m3"]


def test_without_a_filter_everything_stays_and_nothing_fell_back():
    selection = select_messages(chat(3), scores=None, sticky={"m1"}, recent=1)
    assert selection.kept == ("m1", "m2", "m3")
    assert not selection.fell_back
    assert str(selection.reasons["m1"]) == "in: no filter is active"


def test_an_empty_chat_selects_nothing():
    assert kept([], None) == []
    assert kept([], []) == []


@pytest.mark.parametrize("scores", [[0.9, 0.9], [0.1] * 4])
def test_a_wrong_number_of_scores_is_a_programmers_error_on_either_path(scores):
    with pytest.raises(ValueError, match="for 3 messages"):
        kept(chat(3), scores)


CALL = [{"type": "tool_call", "state": "call", "tool_call_id": "c1", "tool_name": "read"}]
RESULT = [{"type": "tool_call", "state": "result", "tool_call_id": "c1", "result": "…"}]
TOOL_CHAT = [
    message(1, "user"),
    message(2, "assistant", CALL),
    message(3, "tool", RESULT),
    message(4, "assistant"),
    message(5, "user"),
]


@pytest.mark.parametrize(
    ("scores", "rules", "expected"),
    [
        pytest.param([0, 0, 0.9, 0, 0], {}, ["m2", "m3"], id="a kept result brings its call"),
        pytest.param([0, 0.9, 0, 0, 0], {}, ["m2", "m3"], id="a kept call brings its result"),
        pytest.param(
            [0, 0, 0.9, 0, 0],
            {"keep_pairs": True},
            ["m1", "m2", "m3"],
            id="and the call its question",
        ),
        pytest.param(
            [0, 0.9, 0.9, 0.9, 0], {"hidden": {"m3"}}, ["m4"], id="a hidden result takes its call"
        ),
        pytest.param(None, {"hidden": {"m2"}}, ["m1", "m4", "m5"], id="also without a filter"),
        pytest.param(
            [0, 0.9, 0.9, 0.9, 0],
            {"hidden": {"m2"}, "pinned": {"m3"}},
            ["m4"],
            id="even if it is pinned",
        ),
    ],
)
def test_a_tool_call_and_its_result_are_never_separated(scores, rules, expected):
    assert kept(TOOL_CHAT, scores, **rules) == expected


def test_each_message_knows_why_it_is_in_or_out():
    values = np.array([[0.47, 0.1, 0.0, 0.0, 0.0, 0.2, 0.0], [0.2, 0.1, 0.0, 0.6, 0.0, 0.21, 0.0]])
    scores = Scores(labels=("LangGraph", "Tax"), values=values.astype(np.float32))
    selection = select_messages(
        chat(7),
        scores=scores,
        threshold=0.4,
        sticky={"m2"},
        pinned={"m5"},
        recent=1,
        keep_pairs=True,
    )
    assert {i: str(reason) for i, reason in selection.reasons.items()} == {
        "m1": "in: about LangGraph",
        "m2": "in: your instruction",
        "m3": "in: question of an answer that stays",
        "m4": "in: about Tax",
        "m5": "in: pinned by you",
        "m6": "out: not close enough to Tax",
        "m7": "in: the newest message",
    }
    assert [i for i, reason in selection.reasons.items() if reason.is_in] == list(selection.kept)
    assert [selection.reasons[i].short for i in ("m1", "m5", "m6")] == [
        "Sent – about LangGraph",
        "Sent – pinned",
        "Not sent – not close enough to Tax",
    ]


def test_every_kind_of_reason_has_a_few_words():
    for kind in ReasonKind:
        words = Reason(kind=kind, score=0.5, topic="Tax").short
        assert words.startswith("Not sent" if kind in OUT else "Sent")


def test_hiding_is_given_as_the_reason_whatever_else_holds():
    selection = select_messages(
        TOOL_CHAT, scores=np.ones(5, dtype=np.float32), hidden={"m3", "m5"}, recent=2
    )
    assert str(selection.reasons["m2"]) == "out: belongs to a tool call that is hidden by you"
    assert str(selection.reasons["m5"]) == "out: hidden by you"
    assert str(selection.reasons["m4"]) == "in: about the topic"


def test_reasons_of_a_fallback_and_of_tools_and_of_recent_ones_read_well():
    fallen = select_messages(chat(2), scores=np.zeros(2, dtype=np.float32))
    assert str(fallen.reasons["m1"]) == "in: no message matches, so all stay"
    tools = select_messages(
        TOOL_CHAT, scores=np.array([0, 0, 0.9, 0, 0], dtype=np.float32), recent=2
    )
    assert str(tools.reasons["m2"]) == "in: belongs to a tool call that stays"
    assert str(tools.reasons["m5"]) == "in: one of the 2 newest"
    with pytest.raises(KeyError):
        tools.reasons["m99"]


@st.composite
def cases(draw):
    count = draw(st.integers(1, 12))
    roles = draw(
        st.lists(st.sampled_from(["user", "assistant", "tool"]), min_size=count, max_size=count)
    )
    messages = [
        message(
            number,
            role,
            CALL if role == "assistant" and draw(st.booleans()) else None,
        )
        for number, role in enumerate(roles, start=1)
    ]
    scores = draw(st.lists(st.floats(-1, 1, width=32), min_size=count, max_size=count))
    ids = [m.id for m in messages]
    some = st.sets(st.sampled_from(ids))
    rules = {
        "sticky": draw(some),
        "pinned": draw(some),
        "hidden": draw(some),
        "recent": draw(st.integers(0, 3)),
        "keep_pairs": draw(st.booleans()),
    }
    return messages, np.array(scores, dtype=np.float32), rules


@given(cases())
def test_a_selection_is_part_of_the_chat_in_its_order_without_the_hidden(case):
    messages, scores, rules = case
    selection = select_messages(messages, scores=scores, **rules)
    order = [m.id for m in messages]
    assert list(selection.kept) == [i for i in order if i in set(selection.kept)]
    assert not rules["hidden"] & set(selection.kept)
    assert [i for i in order if selection.reasons[i].is_in] == list(selection.kept)


@given(cases(), st.floats(-1, 1), st.floats(0, 1))
def test_raising_the_threshold_never_adds_a_message(case, threshold, more):
    messages, scores, rules = case
    low = select_messages(messages, scores=scores, threshold=threshold, **rules)
    high = select_messages(messages, scores=scores, threshold=threshold + more, **rules)
    assert high.fell_back or set(high.kept) <= set(low.kept)


@given(cases())
def test_sticky_and_pinned_are_in_unless_they_or_their_exchange_are_hidden(case):
    messages, scores, rules = case
    rules["hidden"] = set()
    selection = select_messages(messages, scores=scores, **rules)
    assert rules["sticky"] | rules["pinned"] <= set(selection.kept)


@given(cases())
def test_a_result_is_in_exactly_when_its_call_is(case):
    messages, scores, rules = case
    selection = select_messages(messages, scores=scores, **rules)
    assert len({i in selection.kept for i in ("m2", "m3")}) == 1 or not (
        len(messages) > 2
        and messages[1].role == "assistant"
        and messages[1].content == CALL
        and messages[2].role == "tool"
    )


def test_ids_that_occur_twice_are_kept_once():
    twice = [*chat(2), message(1)]
    assert kept(twice, [0.9, 0.9, 0.9]) == ["m1", "m2"]
