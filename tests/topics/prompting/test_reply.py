import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.chat.messages import Message
from smart_context.topics.prompting.reply import ReplyUnusable, parsed_reply

MESSAGES = [Message(id=f"m{n}", role="user", content=f"text {n}") for n in range(1, 6)]


def reply(*topics, sticky=()):
    return json.dumps({"topics": list(topics), "sticky_message_ids": list(sticky)})


def topic(label, count=1, **more):
    return {"label": label, "count": count, **more}


def labels_and_counts(text):
    return [(t.label, t.count) for t in parsed_reply(text, MESSAGES).topics]


GOOD = reply(topic("LangGraph", 2), sticky=["m1"])


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(GOOD, id="bare JSON"),
        pytest.param(f"```json\n{GOOD}\n```", id="in a fence"),
        pytest.param(f"```\n{GOOD}\n```", id="in a fence without a language"),
        pytest.param(f"Sure! Here it is:\n{GOOD}\nHope it helps {{}}", id="with talk around it"),
        pytest.param(f"<think>{{maybe [x]}}</think>{GOOD}", id="after thinking aloud"),
        pytest.param(f"\ufeff  {GOOD}", id="after a byte-order mark"),
    ],
)
def test_topics_are_found_in_a_reply(text):
    found = parsed_reply(text, MESSAGES)
    assert [t.label for t in found.topics] == ["LangGraph"]
    assert found.sticky_ids == ("m1",)


def test_a_bare_list_of_topics_is_understood():
    assert labels_and_counts(json.dumps([topic("Tax", 2)])) == [("Tax", 2)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("", "found nothing", id="nothing"),
        pytest.param("I can't do that.", "I can't do that", id="a refusal"),
        pytest.param('{"topics": [{"label": "A"', "found", id="cut off"),
        pytest.param("{}", "found “{}”", id="no topics"),
        pytest.param('{"topics": "A, B"}', "A, B", id="topics of the wrong type"),
        pytest.param('{"topics": []}', "empty", id="an empty list"),
        pytest.param('{"topics": [1, null, {}, {"label": 5}, {"label": " "}]}', "empty", id="junk"),
        pytest.param("[" * 50_000, "found", id="nested absurdly"),
        pytest.param("null", "found “null”", id="null"),
    ],
)
def test_an_unusable_reply_says_why(text, reason):
    with pytest.raises(ReplyUnusable, match=reason):
        parsed_reply(text, MESSAGES)


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        pytest.param([topic("A", 99)], [("A", 5)], id="more than there are messages"),
        pytest.param([topic("A", 0)], [("A", 1)], id="none"),
        pytest.param([topic("A", -3)], [("A", 1)], id="negative"),
        pytest.param([topic("A", "3")], [("A", 3)], id="a number as text"),
        pytest.param([topic("A", "many")], [("A", 1)], id="a word"),
        pytest.param([topic("A", None)], [("A", 1)], id="null"),
        pytest.param([topic("A", 1e400)], [("A", 1)], id="infinity"),
        pytest.param([{"label": "A"}], [("A", 1)], id="missing"),
        pytest.param(
            [topic("A", 1, message_ids=["m1", "m2"])], [("A", 2)], id="fewer than its ids"
        ),
        pytest.param([topic("A", 3, message_ids=["m1"])], [("A", 3)], id="more than its ids"),
        pytest.param([topic("Tax", 2), topic("tax ", 2)], [("Tax", 4)], id="duplicates added up"),
        pytest.param([topic("Tax", 4), topic("TAX", 4)], [("Tax", 5)], id="but not above all"),
        pytest.param(
            [topic("Tax", 2, message_ids=["m1", "m2"]), topic("tax", 1, message_ids=["m2"])],
            [("Tax", 2)],
            id="shared messages of duplicates once",
        ),
        pytest.param(["Tax"], [("Tax", 1)], id="labels alone"),
    ],
)
def test_counts_are_mended(entries, expected):
    assert labels_and_counts(reply(*entries)) == expected


def test_of_too_many_topics_the_largest_eight_stay_in_their_order():
    entries = [topic(f"T{number}", number % 5 + 1) for number in range(12)]
    found = labels_and_counts(reply(*entries))
    assert len(found) == 8
    assert [label for label, _ in found] == sorted(
        (la for la, _ in found), key=lambda la: int(la[1:])
    )
    assert "T0" not in dict(found)
    assert {"T4", "T9", "T3", "T8"} <= dict(found).keys()


def test_unknown_and_odd_ids_are_dropped_and_known_ones_ordered():
    entry = topic("Tax", 1, message_ids=["m4", "zz", 7, None, "m2", "m2"])
    found = parsed_reply(reply(entry, sticky=["m5", "nope", "m1"]), MESSAGES)
    assert found.topics[0].message_ids == ("m2", "m4")
    assert found.sticky_ids == ("m1", "m5")


@pytest.mark.parametrize("odd", ["m1", {"m1": 1}, None, 3])
def test_ids_that_are_no_list_are_none(odd):
    text = json.dumps({"topics": [topic("Tax", message_ids=odd)], "sticky_message_ids": odd})
    found = parsed_reply(text, MESSAGES)
    assert found.sticky_ids == ()
    assert found.topics[0].message_ids == ()


def test_a_topic_by_the_reserved_name_is_read_as_sticky():
    found = parsed_reply(
        reply(topic("Tax"), topic("instructions & preferences", message_ids=["m2"]), sticky=["m1"]),
        MESSAGES,
    )
    assert [t.label for t in found.topics] == ["Tax"]
    assert found.sticky_ids == ("m1", "m2")


def test_counts_of_a_sample_grow_to_the_whole_chat():
    found = parsed_reply(reply(topic("Tax", 2)), MESSAGES, shown_share=0.5)
    assert found.topics[0].count == 4


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["topics", "label", "count", "message_ids", "sticky_message_ids"]),
            inner,
        )
    ),
    max_leaves=20,
)


@given(st.text(max_size=40) | JSON.map(json.dumps) | JSON.map(lambda v: json.dumps({"topics": v})))
def test_any_reply_is_read_or_refused_with_a_reason(text):
    try:
        found = parsed_reply(text, MESSAGES)
    except ReplyUnusable:
        pass
    else:
        assert 1 <= len(found.topics) <= 8
        assert all(1 <= t.count <= len(MESSAGES) and t.label for t in found.topics)
        assert len({t.label.casefold() for t in found.topics}) == len(found.topics)
