"""The page of one turn, from what the commands say."""

import pytest
from starlette.datastructures import QueryParams

from smart_context.topics.identity import colours_of
from smart_context.topics.values import STICKY_LABEL
from smart_context.web.pages.views.turn_view import (
    MAX_ROWS,
    OTHERS,
    ChatOfTurn,
    TopicRows,
    TopicsOfMessages,
    TurnView,
    grouped,
    replay_settings,
    turn_view,
)

CHAT = ChatOfTurn()


def turn(**others):
    row = {"in": True, "reason": "in: pinned by you", "tokens": 3}
    return {
        "messages": [row, {**row, "in": False}],
        "parts": {"message": 25, "history": 75, "contexts": 0},
        "part_names": {"contexts": "Notes", "history": "Messages", "message": "This message"},
        "settings": {"threshold": 0.4, "topics": [], "keep_pairs": True, "pinned": ["a", "b"]},
        **others,
    }


def test_the_parts_fill_the_bar_in_the_order_in_which_they_are_sent():
    parts = turn_view(turn(), CHAT, is_replay=False).parts
    assert [(p.part, p.start, p.width) for p in parts] == [("history", 0, 75), ("message", 75, 25)]


def test_the_legend_has_topics_and_attachments_beside_each_other():
    """The rows of messages count what is attached to them, which is a part of its own."""
    row = {"id": "m", "kind": "topic", "topic": "Cats", "in": True, "tokens": 560}
    numbers = {"history": 20, "attachments": 547}
    said = turn(
        messages=[row | {"reason": "in: about Cats", "short": "Sent – about Cats"}],
        parts=numbers,
        part_names={"attachments": "Attachments", "history": "Messages"},
        by_topic={"Cats": 13},
    )
    parts = turn_view(said, CHAT, is_replay=False).parts
    assert [(part.name, part.tokens, part.hue is not None) for part in parts] == [
        ("Attachments", 547, False),
        ("Cats", 13, True),
        (OTHERS, 7, False),
    ]


def test_in_and_out_are_told_apart_and_settings_are_in_words():
    view = turn_view(turn(), CHAT, is_replay=False)
    assert (len(view.kept), len(view.left_out)) == (1, 1)
    assert dict(view.settings) == {
        "Match strictness": "Normal",
        "Threshold": "0.4",
        "Keep questions with their answers": "Yes",
        "Pinned": "2 messages",
    }


@pytest.mark.parametrize(
    ("kind", "topic", "short", "why"),
    [
        ("no_filter", None, "Sent – no filter", ""),
        ("topic", "Cats", "Sent – about Cats", ""),
        ("topic", "Dogs", "Sent – about Dogs", "about Dogs"),
        ("sticky", None, "Sent – your instruction", "your instruction"),
        ("below", None, "Not sent – about Cats, which is not picked", "not picked"),
    ],
)
def test_a_reason_does_not_repeat_what_is_said_of_all_messages_above_it(kind, topic, short, why):
    row = {"kind": kind, "topic": topic, "short": short}
    group = TopicRows(name="Cats", hue=1, count=1, tokens=3, rows=(row,))
    assert TurnView.why(row, group) == why


def test_that_no_filter_was_on_is_said_once():
    rows = [{"in": True, "tokens": 3, "kind": "no_filter"}] * 2
    view = turn_view(turn(messages=rows), CHAT, is_replay=False)
    assert view.decision == "No filter was on, so everything was sent."
    some = [*rows, {"in": False, "tokens": 3, "kind": "hidden"}]
    assert turn_view(turn(messages=some), CHAT, is_replay=False).decision == "No filter was on."


@pytest.mark.parametrize(
    ("fell_back", "topics", "decision"),
    [
        (False, ["Cats"], "Sent: what is about Cats, and what always goes."),
        (False, ["Cats", "Dogs"], "Sent: what is about Cats and Dogs, and what always goes."),
        (True, ["Cats"], "No message is about Cats, so all were sent."),
    ],
)
def test_the_decision_about_all_messages_is_a_sentence_without_numbers(fell_back, topics, decision):
    settings = {"threshold": 0.4, "topics": topics}
    rows = [{"in": True, "kind": "said", "tokens": 3}, {"in": False, "kind": "below", "tokens": 3}]
    sent = turn(cut=0.74, fell_back=fell_back, settings=settings, messages=rows)
    assert turn_view(sent, CHAT, is_replay=False).decision == decision


@pytest.mark.parametrize("kinds", [["recent"], []], ids=["with the newest", "with nothing"])
def test_a_turn_that_sent_nothing_about_its_pick_says_so(kinds):
    hidden = {"in": False, "kind": "hidden", "tokens": 3}
    rows = [hidden, *({"in": True, "kind": kind, "tokens": 3} for kind in kinds)]
    sent = turn(settings={"threshold": 0.4, "topics": ["Cats"]}, messages=rows)
    decision = turn_view(sent, CHAT, is_replay=False).decision
    assert decision == "Nothing about Cats could be sent, only what always goes."


@pytest.mark.parametrize(("cut", "words"), [(0.2749, "0.27"), (0.0031, "0.0031"), (None, None)])
def test_the_one_score_that_decided_is_among_the_settings(cut, words):
    view = turn_view(turn(cut=cut), CHAT, is_replay=False)
    assert dict(view.settings).get("Sent from a score of") == words
    assert view.cut == (0.4 if cut is None else cut)


def test_a_receipt_without_a_cut_is_marked_at_its_threshold():
    view = turn_view(turn(), CHAT, is_replay=False)
    assert (view.cut, view.decision) == (0.4, "")


def test_what_has_changed_is_in_words():
    difference = {
        "settings": {"topics": [[], ["Cats"]]},
        "models": {"chat": ["a", "embedded/passages"], "relevance": ["plain", "enriched"]},
        "came_in": [],
        "went_out": [],
    }
    view = turn_view(turn(diff=difference), CHAT, is_replay=True)
    assert view.changes == (
        "Topics: None → Cats",
        "Model: a → None",
        "Relevance: Meaning only → Meaning and words",
    )


@pytest.mark.parametrize(
    ("query", "settings"),
    [
        pytest.param("", None, id="no form"),
        pytest.param("diff=x", None, id="another form"),
        pytest.param("replay=1", {"topics": [], "keep_pairs": False}, id="nothing ticked"),
        pytest.param(
            "replay=1&topics=A&topics=B&threshold=0.3&recent_messages=4&keep_pairs=on&relevance=plain",
            {
                "topics": ["A", "B"],
                "threshold": 0.3,
                "recent_messages": 4,
                "keep_pairs": True,
                "relevance": "plain",
            },
            id="all of it",
        ),
        pytest.param(
            "replay=1&threshold=x&recent_messages=&relevance=best&model=",
            {"topics": [], "keep_pairs": False},
            id="nonsense is passed over",
        ),
    ],
)
def test_the_form_is_read(query, settings):
    assert replay_settings(QueryParams(query)) == settings


def test_a_replay_can_pick_the_topics_of_the_turn_and_of_the_chat():
    stored = [
        {"id": "b", "label": "B", "count": 1},
        {"id": "a", "label": "A", "count": 1},
        {"label": "Instructions", "count": 1, "sticky": True},
    ]
    chosen = {**turn()["settings"], "topics": ["Gone", "A"]}
    view = turn_view(turn(settings=chosen), ChatOfTurn(topics=stored), is_replay=False)
    assert [(t.label, t.is_active) for t in view.topics] == [
        ("B", False),
        ("A", True),
        ("Gone", True),
    ]


def test_the_messages_in_the_bar_have_their_topics_colours():
    def row(name, tokens):
        return {"id": name, "in": True, "kind": "no_filter", "tokens": tokens}

    places = {"id": "t1", "label": "Cats", "places": [0, 1]}
    chat = ChatOfTurn(
        topics=[{"id": "t1", "label": "Cats", "count": 2}],
        topic_map={"message_ids": ["a", "b", "c"], "topics": [places]},
    )
    rows = [row("a", 20), row("b", 10), row("c", 45)]
    parts = turn_view(turn(messages=rows), chat, is_replay=False).parts
    assert [(p.name, p.tokens, p.hue is None) for p in parts] == [
        ("Cats", 30, False),
        ("Other messages", 45, True),
        ("This message", 25, True),
    ]


def test_what_no_topic_has_is_called_in_the_bar_as_in_the_list():
    def row(name, tokens, kind):
        return {"id": name, "in": True, "kind": kind, "tokens": tokens, "topic": "Cats"}

    chat = ChatOfTurn(topics=[{"id": "t1", "label": "Cats", "count": 1}])
    rows = [row("a", 30, "topic"), row("b", 45, "sticky")]
    view = turn_view(turn(messages=rows), chat, is_replay=False)
    assert {part.name for part in view.parts[:2]} == {group.name for group in view.kept}


TOPICS = [
    {"id": "t1", "label": "Cats"},
    {"id": "t2", "label": "Boats"},
    {"id": "t3", "label": "Sails", "parent_id": "t2"},
    {"id": "t4", "label": "Instructions", "sticky": True},
]
MAP = {
    "message_ids": ["a", "b", "c", "d"],
    "topics": [
        {"id": "t3", "label": "Sails", "places": [1]},
        {"id": "t4", "label": "Instructions", "places": [0]},
        {"id": "t1", "label": "Cats", "places": [0, 1]},
        {"id": "t2", "label": "Boats", "places": [1, 2]},
    ],
}


def row(name, tokens=1, kind="below", topic=""):
    return {"id": name, "tokens": tokens, "kind": kind, "topic": topic}


def groups(*rows):
    return grouped(rows, TopicsOfMessages(MAP, TOPICS))


def test_messages_are_grouped_by_their_topic_the_costliest_first_and_the_rest_last():
    found = groups(row("d", 9), row("a"), row("c", 5), row("b"))
    assert [(g.name, g.count, g.tokens) for g in found] == [
        ("Boats", 1, 5),
        ("Cats", 2, 2),
        (OTHERS, 1, 9),
    ]
    colours = colours_of([("t1", ""), ("t2", "")])
    assert [g.hue for g in found] == [colours["t2"], colours["t1"], None]


def test_the_topic_that_kept_a_message_comes_before_the_one_it_belongs_to():
    assert [g.name for g in groups(row("a", kind="topic", topic="Sails"))] == ["Sails"]
    assert [g.name for g in groups(row("a", kind="below", topic="Sails"))] == ["Cats"]


def test_a_standing_instruction_is_no_other_message():
    found = groups(row("a", kind="sticky"), row("d", 9))
    assert [(g.name, g.hue) for g in found] == [(STICKY_LABEL, None), (OTHERS, None)]


def test_a_topic_that_is_gone_has_a_colour():
    assert groups(row("a", kind="topic", topic="Gone"))[0].hue is not None


def test_a_long_receipt_shows_its_first_messages_and_counts_all():
    (found,) = groups(*[row("a")] * (MAX_ROWS + 5))
    assert (len(found.rows), found.count) == (MAX_ROWS, MAX_ROWS + 5)
