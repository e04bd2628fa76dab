"""The messages of a receipt by topic."""

from smart_context.topics.identity import hue_of
from smart_context.topics.values import STICKY_LABEL
from smart_context.web.pages.views.turn_rows import MAX_ROWS, OTHERS, TopicsOfMessages, grouped

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
    assert [g.hue for g in found] == [hue_of("t2"), hue_of("t1"), None]


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
