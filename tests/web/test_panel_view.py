import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.web.panel_view import HUES, fnv1a, hues_of, messages_counted, panel_view

TOPICS = [
    {"label": "LangGraph", "count": 4},
    {"label": "Async", "count": 2},
    {"label": "Instructions & Preferences", "sticky": True, "message_ids": ["a", "b"], "count": 2},
]
KNOWN = {"topics": TOPICS, "active_topics": [], "embedding_search": True, "total_messages": 14}


def ids(count):
    return [f"m{i}" for i in range(count)]


@pytest.mark.parametrize(
    ("news", "line"),
    [
        pytest.param({"message_ids": ids(14)}, "All messages in context", id="no filter"),
        pytest.param(
            {"active_topics": ["Async"], "message_ids": ids(5)},
            "5 of 14 messages in context",
            id="a filter",
        ),
        pytest.param(
            {"active_topics": ["X"], "message_ids": ids(14), "fell_back": True},
            "No message matches; all 14 messages in context",
            id="a fallback",
        ),
        pytest.param(
            {"hidden": ["m1"], "message_ids": ids(13)},
            "13 of 14 messages in context",
            id="one hidden by hand",
        ),
        pytest.param({"active_topics": ["Async"]}, "", id="a filter whose outcome is not known"),
        pytest.param({"active_topics": None}, "", id="nothing known of the filter"),
    ],
)
def test_the_status_line_is_worded_as_agreed(news, line):
    assert panel_view({**KNOWN, **news}).status == line


def test_the_short_status_has_the_numbers():
    view = panel_view({**KNOWN, "active_topics": ["Async"], "message_ids": ids(5)})

    assert view.short_status == "5 of 14"


def test_a_picked_topic_that_vanished_is_gone_not_dropped():
    view = panel_view({**KNOWN, "active_topics": ["Async", "Old Topic"]})

    assert [(t.label, t.is_active) for t in view.topics] == [("LangGraph", False), ("Async", True)]
    assert [t.label for t in view.gone] == ["Old Topic"]


def test_the_sticky_topic_is_counted_and_is_no_bubble():
    assert panel_view(KNOWN).sticky_count == 2


def test_the_hues_are_those_of_the_script():
    labels = ["LangGraph", "Python Async", "Debugging", "Sourdough Bread", "成都", "Tax"]

    assert fnv1a("LangGraph") == 31570743
    assert hues_of([*labels, "😀 Fun", "｡ Half"]) == {
        "Debugging": 3,
        "LangGraph": 8,
        "Python Async": 11,
        "Sourdough Bread": 1,
        "Tax": 10,
        "成都": 4,
        "｡ Half": 6,
        "😀 Fun": 9,
    }


@given(st.lists(st.text(), unique=True))
def test_no_two_topics_share_a_hue_while_there_are_enough(labels):
    hues = hues_of(labels)

    assert hues.keys() == set(labels)
    assert all(0 <= hue < HUES for hue in hues.values())
    assert len(set(hues.values())) == min(len(labels), HUES)


def test_one_message_is_not_one_messages():
    assert [messages_counted(n) for n in (0, 1, 2)] == ["0 messages", "1 message", "2 messages"]
