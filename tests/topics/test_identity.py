import itertools
from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from smart_context.topics.identity import (
    HUES,
    colours_of,
    fnv1a,
    hue_of,
    new_topic_id,
    with_chosen_labels,
    with_ids,
)
from smart_context.topics.values import Topic


def topic(label, *message_ids, id=""):  # noqa: A002 - as the field is called
    return Topic(label=label, count=1, message_ids=message_ids, id=id)


def test_the_hues_are_those_of_the_script():
    assert fnv1a("LangGraph") == 31570743
    assert [hue_of(topic_id) for topic_id in ("t1", "t2", "成都")] == [10, 11, 4]


def test_a_topic_that_is_found_again_keeps_its_id():
    known = with_ids([topic("Cats", "m1"), topic("Boats", "m2")])
    found = with_ids([topic("Weather"), topic("boats "), topic("Cats")], known)

    assert [found[1].id, found[2].id] == [known[1].id, known[0].id]
    assert found[0].id not in {known[0].id, known[1].id}


def test_another_name_for_most_of_the_same_messages_keeps_the_id():
    known = with_ids([topic("Cats", "m1", "m2", "m3"), topic("Boats", "m8", "m9")])
    found = with_ids([topic("Felines", "m1", "m2", "m4"), topic("Sails", "m5", "m9")], known)

    assert found[0].id == known[0].id
    assert found[1].id not in {one.id for one in known}


def test_a_label_counts_more_than_messages():
    known = with_ids([topic("Cats", "m1"), topic("Boats", "m2")])
    found = with_ids([topic("Dogs", "m1"), topic("Cats", "m5")], known)

    assert found[1].id == known[0].id
    assert found[0].id != known[0].id


def test_an_id_that_a_topic_has_stays():
    assert with_ids([topic("Felines", id="t1")], [topic("Cats", id="t1")])[0].id == "t1"


@given(st.lists(st.text()))
def test_each_topic_has_its_own_id_and_hue_while_there_are_enough(labels):
    topics = with_ids([topic(label) for label in labels])

    assert len({one.id for one in topics}) == len(labels)
    hues = [hue_of(one.id) for one in topics]
    assert len(set(hues)) == min(len(labels), HUES)


def test_new_ids_never_collide():
    taken = set()
    for _ in range(200):
        taken.add(new_topic_id("Cats", taken))

    assert len(taken) == 200


def test_a_part_names_its_whole_by_the_id_that_the_whole_gets_and_keeps():
    whole = Topic(label="Travel", count=4)
    part = Topic(label="Train Tickets", count=2, parent_id="Travel")
    found = with_ids((whole, part))
    assert found[1].parent_id == found[0].id
    renamed = (replace(found[0], label="Trips"), found[1])
    assert with_ids(renamed)[1].parent_id == found[0].id
    assert not with_ids(found[1:])[0].parent_id


def test_topics_side_by_side_have_unlike_colours_and_parts_shades_of_theirs():
    """The script computes the same: see `words.test.mjs`."""
    topics = [("t2", ""), ("t1", ""), ("t13", ""), ("p1", "t1"), ("p2", "t1"), ("p3", "gone")]
    assert colours_of(topics) == {
        "t1": 10, "t13": 7, "t2": 4, "p1": "10 s1", "p2": "10 s2", "p3": 0,
    }  # fmt: skip
    many = colours_of((f"x{n}", "") for n in range(HUES))
    assert len(set(many.values())) == HUES
    six = colours_of((f"y{n}", "") for n in range(6))
    assert six == {"y0": 4, "y1": 0, "y2": 2, "y3": 6, "y4": 8, "y5": 10}


@given(st.lists(st.text(min_size=1, max_size=8), unique=True, max_size=6))
def test_up_to_six_topics_with_any_ids_have_hues_apart(ids):
    hues = sorted(map(int, colours_of((topic_id, "") for topic_id in ids).values()))
    steps = [after - before for before, after in pairwise([*hues, *(hue + HUES for hue in hues)])]
    assert len(set(hues)) == len(ids)
    assert len(ids) > 4 or min(steps, default=2) >= 2  # of four none is beside another


def test_a_new_topic_has_a_hue_that_none_beside_it_has_though_parts_have_it():
    nested = [Topic(label=f"part {n}", count=1, id=f"p{n}", parent_id="t1") for n in range(40)]
    tops = [Topic(label=f"top {n}", count=2, id=f"t{n}") for n in range(1, 6)]
    found = with_ids([*tops, *nested, Topic(label="new", count=2)])
    assert hue_of(found[-1].id) not in {hue_of(topic.id) for topic in tops}


def test_up_to_six_topics_are_two_hues_apart_and_three_are_four():
    for number in range(40):
        topics = with_ids([topic(f"{number} {place}") for place in range(6)])
        hues = [hue_of(one.id) for one in topics]
        assert _least_apart(hues) == 2
        assert _least_apart(hues[:2]) >= 4


def _least_apart(hues):
    pairs = itertools.combinations(hues, 2)
    return min(min((a - b) % HUES, (b - a) % HUES) for a, b in pairs)


def test_a_chosen_label_outlives_another_order_of_its_words():
    found = [
        topic("Tomaten & Kompost"),
        topic("kompost, Tomaten"),
        topic("Tomaten"),
        topic("Boats"),
    ]
    named = with_chosen_labels(found, ["Kompost & Tomaten", "Boats", "Cats"])
    labels = [one.label for one in named]
    assert labels == ["Kompost & Tomaten", "kompost, Tomaten", "Tomaten", "Boats"]
    assert with_chosen_labels([topic("B & A"), topic("A & B")], ["A & B"])[0].label == "B & A"


def test_a_part_stays_in_a_topic_that_takes_a_chosen_label():
    found = [topic("Spain Trip"), replace(topic("Hotels"), parent_id="Spain Trip")]
    whole, part = with_ids(with_chosen_labels(found, ["Trip Spain"]))
    assert (whole.label, part.parent_id) == ("Trip Spain", whole.id)
