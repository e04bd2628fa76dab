import json

import pytest

from smart_context.chat.messages import Message
from smart_context.topics.stored import (
    MOST_COUNTING,
    counting,
    from_assignments,
    not_counting,
    stored_sticky_ids,
    stored_topics,
    to_assignments,
    to_stored,
)
from smart_context.topics.values import Extraction, Topic

MESSAGES = [Message(id=f"m{n}", role="user", content="text") for n in range(1, 5)]
FOUND = Extraction(
    topics=(
        Topic(label="LangGraph", count=4, message_ids=("m1", "m2"), keywords=("graph",), id="t1"),
        Topic(label="Python Async", count=2, id="t2"),
    ),
    sticky_ids=("m3",),
)


def test_the_public_list_is_as_the_contract_shows_it():
    assert to_stored(FOUND, (), MESSAGES) == [
        {"label": "LangGraph", "count": 4, "id": "t1"},
        {"label": "Python Async", "count": 2, "id": "t2"},
        {
            "label": "Instructions & Preferences",
            "sticky": True,
            "message_ids": ["m3"],
            "count": 1,
        },
    ]


@pytest.mark.parametrize(
    ("previous", "expected"),
    [
        pytest.param(["m1"], ["m1", "m3"], id="earlier ones stay, chronological"),
        pytest.param(["m3"], ["m3"], id="each once"),
        pytest.param(["gone"], ["m3"], id="less those that are no longer in the chat"),
    ],
)
def test_sticky_ids_are_those_found_earlier_and_now(previous, expected):
    assert to_stored(FOUND, previous, MESSAGES)[-1]["message_ids"] == expected


def test_without_standing_instructions_there_is_no_sticky_entry():
    found = Extraction(topics=FOUND.topics)
    assert all("sticky" not in entry for entry in to_stored(found, ["gone"], MESSAGES))
    assert to_stored(Extraction(), (), MESSAGES) == []


def test_what_was_stored_is_read_back():
    stored = to_stored(FOUND, (), MESSAGES)
    assert tuple(t.label for t in stored_topics(stored)) == ("LangGraph", "Python Async")
    assert stored_sticky_ids(stored) == {"m3"}
    assert from_assignments(json.loads(json.dumps(to_assignments(FOUND.topics)))) == FOUND.topics


@pytest.mark.parametrize(
    "odd", [None, 7, {}, [None, 3, {}, {"label": 5}, {"sticky": True, "message_ids": "m1"}]]
)
def test_topics_of_other_programs_that_make_no_sense_are_passed_over(odd):
    assert stored_topics(odd) == ()
    assert stored_sticky_ids(odd) == frozenset()
    assert from_assignments(odd) == ()
    assert from_assignments({"version": 1, "topics": odd}) == ()


def test_assignments_of_another_version_are_not_used():
    assert from_assignments(to_assignments(FOUND.topics) | {"version": 2}) == ()


def test_topics_of_a_file_written_by_hand_have_ids_and_keep_them():
    by_hand = [{"label": "Cats", "count": 2}, {"label": "Boats", "count": 1, "id": "mine"}]

    cats, boats = stored_topics(by_hand, [Topic(label="Cats", count=2, message_ids=("m1",))])

    assert (boats.id, cats.message_ids) == ("mine", ("m1",))
    assert cats.id
    assert stored_topics(by_hand) == stored_topics(by_hand)


def test_of_many_topics_the_first_count_and_all_standing_instructions_do():
    topics = [{"label": f"Topic {n}", "count": 1} for n in range(MOST_COUNTING + 2)]
    stored = [*topics, {"sticky": True, "label": "Always", "message_ids": ["m1"], "count": 1}]
    assert counting(stored) == [*topics[:MOST_COUNTING], stored[-1]]
    assert not_counting(stored) == topics[MOST_COUNTING:]
    assert [topic.label for topic in stored_topics(stored)][-1] == f"Topic {MOST_COUNTING - 1}"
    assert stored_sticky_ids(stored) == {"m1"}
