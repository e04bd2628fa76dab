"""Messages that stay in the topics where a person has put them."""

from hypothesis import given
from hypothesis import strategies as st

from smart_context.topics.holding import nearest_label, with_held
from smart_context.topics.values import FixedTopics, Topic

ORDER = [f"m{n}" for n in range(8)]


def topic(label, *numbers, **more):
    ids = tuple(f"m{n}" for n in numbers)
    return Topic(label=label, count=len(ids), message_ids=ids, id=label.lower(), **more)


def members(topics):
    return {each.label: " ".join(each.message_ids) for each in topics}


def test_a_message_that_was_said_while_a_topic_was_picked_comes_back_to_it():
    found = (topic("Bread", 0, 1), topic("Starter", 2, 3))
    now = with_held(found, FixedTopics(said={"m3": ("Bread",)}), ORDER)
    assert members(now) == {"Bread": "m0 m1 m3", "Starter": "m2"}
    assert [each.count for each in now] == [3, 1]


def test_a_group_of_nothing_but_such_messages_becomes_a_part_of_the_picked_topic():
    found = (topic("Bread", 0, 1), topic("Starter", 2, 3))
    now = with_held(found, FixedTopics(said=dict.fromkeys(["m2", "m3"], ("Bread",))), ORDER)
    assert members(now) == {"Bread": "m0 m1 m2 m3"}


def test_a_picked_topic_that_was_not_found_again_keeps_what_was_said_under_it():
    now = with_held((topic("Bread", 0, 1),), FixedTopics(said={"m1": ("Typed",)}), ORDER)
    assert members(now) == {"Bread": "m0", "Typed": "m1"}


def test_a_message_said_under_several_topics_joins_the_nearest_unless_it_is_in_one():
    found = (topic("Bread", 0), topic("Boats", 1), topic("Starter", 2))
    held = FixedTopics(said={"m1": ("Bread", "Boats"), "m2": ("Bread", "Boats")})
    now = with_held(found, held, ORDER, lambda _id, labels: labels[-1])
    assert members(now) == {"Bread": "m0", "Boats": "m1 m2"}


def test_what_a_message_is_about_counts_more_than_what_was_picked():
    found = (topic("Bread", 0, 1), topic("Boats", 2))
    held = FixedTopics(said={"m1": ("Bread",)}, about={"m0": ("Boats",), "m1": ()})
    assert members(with_held(found, held, ORDER)) == {"Boats": "m0 m2"}


def test_a_message_that_is_not_about_a_topic_leaves_it_and_its_parts():
    found = (topic("Food", 0, 1, 2), topic("Bread", 1, 2, parent_id="food"))
    now = with_held(found, FixedTopics(apart={"m1": frozenset({"Food"})}), ORDER)
    assert members(now) == {"Food": "m0 m2", "Bread": "m2"}


def test_a_message_in_a_part_of_the_topic_is_where_it_belongs():
    found = (topic("Food", 0, 1, 2), topic("Bread", 1, 2, parent_id="food"))
    assert with_held(found, FixedTopics(said={"m1": ("Food",)}), ORDER) == found


def test_the_parts_of_a_topic_that_lost_its_messages_stand_alone():
    found = (topic("Food", 0, 1), topic("Bread", 1, parent_id="food"))
    now = with_held(found, FixedTopics(about={"m0": (), "m1": ()}), ORDER)
    assert now == ()


def test_without_any_vectors_the_first_topic_is_the_nearest():
    assert nearest_label(None, ["Bread", "Boats"], {}) == "Bread"


LABELS = ["A", "B", "C"]


def facts(values):
    return st.lists(st.tuples(st.sampled_from(ORDER), values), max_size=5).map(dict)


@given(
    st.lists(st.integers(-1, 2), min_size=8, max_size=8),
    facts(st.lists(st.sampled_from(LABELS), min_size=1, max_size=2, unique=True).map(tuple)),
    facts(st.sampled_from([(), ("A",), ("B",), ("C",)])),
    facts(st.sampled_from([frozenset("A"), frozenset("B")])),
)
def test_held_messages_are_where_they_belong_others_stay_and_again_changes_nothing(
    found, said, about, apart
):
    topics = [
        topic(name, *(n for n, g in enumerate(found) if g == k)) for k, name in enumerate("ABC")
    ]
    said = {
        i: t
        for i, names in said.items()
        if (t := tuple(x for x in names if x not in apart.get(i, ())))
    }
    about = {i: names for i, names in about.items() if apart.get(i, frozenset()).isdisjoint(names)}
    held = FixedTopics(said=said, about=about, apart=apart)
    now = with_held(topics, held, ORDER)
    where = {i: [t.label for t in now if i in t.message_ids] for i in ORDER}
    for message_id, labels in held.within.items():
        assert where[message_id] == [] if not labels else set(where[message_id]) <= set(labels)
        assert bool(where[message_id]) == bool(labels)
    for message_id in set(ORDER) - {*held.within, *apart}:
        assert where[message_id] == [t.label for t in topics if message_id in t.message_ids]
    assert all(apart.get(i, frozenset()).isdisjoint(where[i]) for i in ORDER)
    assert with_held(now, held, ORDER) == now
