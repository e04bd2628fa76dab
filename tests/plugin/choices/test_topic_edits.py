"""Topics by hand: what a user makes of them outlives whatever extraction finds."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.choices.topic_edits import MAX_EDITS, TopicEdits
from smart_context.topics.identity import with_ids
from smart_context.topics.values import STICKY_LABEL, Topic

NAMES = ["Cats", "Boats", "Bread", "cats ", "Piano"]
names = st.sampled_from(NAMES)
edits = st.lists(
    st.one_of(
        st.tuples(st.just("rename"), st.lists(names, min_size=1, max_size=2), names),
        st.tuples(st.just("delete"), names),
        st.tuples(st.just("add"), names),
    ),
    max_size=8,
).map(lambda steps: made(*steps))
ORDER = [f"m{n}" for n in range(6)]
found = st.lists(
    st.builds(
        Topic,
        label=names,
        count=st.integers(1, 6),
        message_ids=st.lists(st.sampled_from(ORDER), unique=True).map(lambda i: tuple(sorted(i))),
    ),
    max_size=5,
    unique_by=lambda topic: topic.label,
)


def made(*steps):
    state = TopicEdits()
    for verb, *what in steps:
        state = getattr(state, verb)(*what)
    return state


def labels(state, *topics):
    known = [Topic(label=label, count=1) for label in topics]
    return [topic.label for topic in state.apply(known, ORDER)]


def test_a_renamed_topic_keeps_its_name_when_it_is_found_again():
    state = made(("rename", ["Cats"], "Felines"))
    assert labels(state, "Cats", "Boats") == ["Felines", "Boats"]
    assert labels(state, "CATS") == ["Felines"]


def test_a_name_that_is_changed_twice_and_back_again_leaves_no_trace():
    state = made(("rename", ["Cats"], "Felines"), ("rename", ["Felines"], "Pets"))
    assert labels(state, "Cats") == ["Pets"]
    back = state.rename(["Pets"], "Cats")
    assert labels(back, "Cats") == ["Cats"]


def test_a_rename_leaves_the_others_alone():
    state = made(
        ("add", "Piano"),
        ("rename", ["Dogs"], "Hounds"),
        ("rename", ["Cats"], "Felines"),
        ("rename", ["Felines"], "Pets"),
    )
    assert labels(state, "Cats", "Dogs") == ["Pets", "Hounds", "Piano"]
    again = state.add("hounds")
    assert labels(again, "Cats", "Dogs") == ["Pets", "hounds", "Piano"]
    assert labels(again.add("Cats"), "Dogs", "Cats") == ["hounds", "Cats", "Piano"]


def test_an_added_topic_may_be_renamed():
    assert labels(made(("add", "Piano"), ("add", "Cats"), ("rename", ["piano"], "Keys"))) == [
        *("Keys", "Cats")
    ]


@pytest.mark.parametrize("label", ["x", "x" * 200])
def test_a_label_may_be_short_or_long(label):
    assert made(("add", label)).added == (label,)


@pytest.mark.parametrize("verb", ["delete", "add"])
def test_there_is_an_end_to_edits_of_each_kind(verb):
    state = TopicEdits(deleted=NUMBERS, added=NUMBERS)
    with pytest.raises(ValueError, match="at most"):
        getattr(state, verb)("one more")


def test_there_is_an_end_to_new_names():
    state = TopicEdits(renamed=dict.fromkeys(NUMBERS, "x"))
    with pytest.raises(ValueError, match="at most"):
        state.rename(["one more"], "y")


NUMBERS = tuple(str(number) for number in range(MAX_EDITS))


def test_a_file_with_new_names_of_another_kind_has_none():
    assert TopicEdits.from_dict({"renamed": "x", "added": ["y"]}) == TopicEdits(added=("y",))


def test_a_new_name_may_be_one_that_was_deleted():
    state = made(("delete", "Felines"), ("rename", ["Cats"], "felines"))
    assert state.deleted == ()
    assert labels(state, "Cats") == ["felines"]


def topic(label, count, *ids, topic_id=""):
    return Topic(label=label, count=count, message_ids=ids, id=topic_id)


@pytest.mark.parametrize(
    ("one", "other", "merged"),
    [
        pytest.param(
            topic("A", 2, "m1", "gone", topic_id="t1"),
            topic("A ", 2, "m0", "m9", topic_id="t2"),
            topic("A", 4, "gone", "m1", "m0", "m9", topic_id="t1"),
            id="in the order of the chat",
        ),
        pytest.param(
            topic("A", 1, "m1"), topic("a", 2, topic_id="t2"), topic("A", 3, "m1", topic_id="t2")
        ),
        pytest.param(
            topic("A", 1, topic_id="t1"),
            topic("a", 2, topic_id="t2"),
            topic("A", 3, topic_id="t2"),
            id="in the place and colour of the larger one",
        ),
        pytest.param(topic("A", 2), topic("a", 1), topic("A", 3), id="without messages"),
        pytest.param(topic("A", 3), topic("a", 2), topic("A", 4), id="no more than there are"),
    ],
)
def test_what_two_topics_are_together(one, other, merged):
    edits = TopicEdits(renamed={"A ": "A", "a": "A"})
    assert edits.apply([one, other], ["m1", "m0", "m9", "m2"]) == (merged,)


def test_of_three_topics_the_largest_gives_the_colour_and_not_the_first_two_together():
    edits = TopicEdits(renamed={"b": "A", "c": "A"})
    found = [
        topic(label, size, topic_id=f"t{label}") for label, size in (("A", 2), ("b", 2), ("c", 3))
    ]
    assert [one.id for one in edits.apply(found, ORDER)] == ["tc"]


def test_a_topic_of_no_messages_counts_one():
    edits = TopicEdits(renamed={"b": "A"})
    assert edits.apply([topic("A", 1), topic("b", 1)], []) == (topic("A", 1),)


def test_labels_of_a_file_are_read_when_they_can_be():
    stored = [5, "", "x", "y" * 200, "z" * 201, "x"]
    state = TopicEdits.from_dict({"added": stored, "deleted": "x", "renamed": {"a": 5, "": "b"}})
    assert state == TopicEdits(added=("x", "y" * 200))
    (added, _) = state.apply([], ORDER)
    assert added == Topic(label="x", count=0)


def test_topics_of_one_name_become_one_with_the_messages_of_both():
    state = made(("rename", ["Cats", "Boats"], "Cats"))
    cats = Topic(label="Cats", count=2, message_ids=("m0", "m3"), keywords=("purr",))
    boats = Topic(label="Boats", count=2, message_ids=("m1", "m3"), keywords=("sail", "purr"))
    (one,) = state.apply([cats, boats], ORDER)
    assert one == Topic(
        label="Cats", count=3, message_ids=("m0", "m1", "m3"), keywords=("purr", "sail")
    )


@pytest.mark.parametrize(
    ("edit", "whole"),
    [
        pytest.param(("rename", ["Home"], "House"), "House", id="renamed"),
        pytest.param(("rename", ["Boats", "Home"], "Boats"), "Boats", id="merged with another"),
        pytest.param(("delete", "Home"), "", id="deleted"),
    ],
)
@pytest.mark.parametrize("is_stored", [False, True], ids=["found again", "stored with ids"])
def test_parts_stay_in_their_edited_topic(edit, whole, is_stored):
    boats = Topic(label="Boats", count=1, message_ids=("m4",))
    home = Topic(label="Home", count=3, message_ids=("m0", "m1", "m2"))
    part = Topic(label="Garden", count=2, message_ids=("m0", "m1"), parent_id="Home")
    topics = (boats, home, part)
    topics = with_ids(topics) if is_stored else topics
    edited = with_ids(made(edit).apply(topics, ORDER))
    label_of = {topic.id: topic.label for topic in edited}
    (garden,) = (topic for topic in edited if topic.label == "Garden")
    assert label_of.get(garden.parent_id, "") == whole


def test_a_deleted_topic_stays_away_until_it_is_added():
    state = made(("delete", "Cats"))
    assert labels(state, "cats", "Boats") == ["Boats"]
    assert labels(state.add("Cats"), "Cats", "Boats") == ["Cats", "Boats"]


def test_an_added_topic_is_there_once_whether_it_is_found_or_not():
    state = made(("add", "Piano"))
    assert labels(state, "Cats") == ["Cats", "Piano"]
    assert labels(state, "piano") == ["piano"]


def test_an_added_topic_is_spelled_as_a_later_rename_spells_it():
    renames = ("rename", ["Pets"], "Cats"), ("rename", ["Boats"], "Cats")
    state = made(renames[0], ("add", "cats"), renames[1])
    assert (labels(state, "Pets"), labels(state)) == (["Cats"], ["Cats"])


@pytest.mark.parametrize("label", ["", "  ", "x" * 201, STICKY_LABEL.lower()])
def test_a_label_that_is_none_is_refused(label):
    with pytest.raises(ValueError, match=r"label|standing"):
        TopicEdits().add(label)
    with pytest.raises(ValueError, match=r"label|standing"):
        TopicEdits().rename(["Cats"], label)


def test_the_edits_have_an_end():
    state = made(*[("add", f"topic {n}") for n in range(MAX_EDITS)])
    with pytest.raises(ValueError, match="at most"):
        state.add("one more")


@given(edits, found)
def test_applying_twice_is_applying_once(state, topics):
    once = state.apply(topics, ORDER)
    assert state.apply(once, ORDER) == once


@given(edits, found)
def test_labels_are_unique_and_none_is_deleted(state, topics):
    shown = [topic.label.strip().casefold() for topic in state.apply(topics, ORDER)]
    assert len(shown) == len(set(shown))
    assert not {label.strip().casefold() for label in state.deleted} & set(shown)


@given(edits, st.none() | st.floats(-1, 1))
def test_the_edits_and_the_threshold_come_back_from_the_file(state, threshold):
    whole = FilterState(threshold=threshold, edits=state)
    assert FilterState.from_dict(json.loads(json.dumps(whole.to_dict()))) == whole


@pytest.mark.parametrize("value", [True, "0.5", 2, float("nan"), float("inf"), [0.5]])
def test_a_threshold_that_is_none_reads_as_not_set(value):
    assert FilterState.from_dict({"threshold": value}).threshold is None


def test_a_file_of_before_has_no_threshold_and_no_edits_and_gets_none():
    old = {"version": 1, "active_topics": ["Cats"], "pinned": ["m0"]}
    state = FilterState.from_dict(old)
    assert (state.threshold, state.edits) == (None, TopicEdits())
    assert not {"threshold", "edits"} & state.to_dict().keys()
