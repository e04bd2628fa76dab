"""What a person has said of single messages."""

from hypothesis import given
from hypothesis import strategies as st

from smart_context.plugin.choices.message_topics import MessageTopics, TopicName, merged_topics
from smart_context.topics.values import FixedTopics

BREAD, BOATS, TYPED = TopicName("t1", "Bread"), TopicName("t2", "Boats"), TopicName("", "Knots")

NAMES = st.sampled_from([BREAD, BOATS, TYPED])
IDS = st.lists(st.sampled_from(["a", "b", "c"]), max_size=3, unique=True)
STEPS = st.lists(st.tuples(st.sampled_from(["say", "assign", "deny"]), IDS, NAMES), max_size=6)


def told(steps, start=None):
    facts = start or MessageTopics()
    for verb, ids, name in steps:
        facts = getattr(facts, verb)(ids, [name] if verb == "say" else name)
    return facts


def label(name):
    return name.label


@given(STEPS)
def test_what_is_stored_is_read_back(steps):
    facts = told(steps)
    assert MessageTopics.from_dict(facts.to_dict()) == facts


def test_messages_of_equal_facts_are_stored_together():
    facts = MessageTopics().say(["a", "b"], [BREAD, TYPED]).say(["c"], [BOATS])
    assert facts.to_dict() == {
        "said": [
            {"topics": [["t1", "Bread"], ["", "Knots"]], "message_ids": ["a", "b"]},
            {"topics": [["t2", "Boats"]], "message_ids": ["c"]},
        ]
    }


def test_damaged_facts_are_none():
    for document in (None, [], {"said": 3}, {"said": [{"topics": 1, "message_ids": ["a"]}]}):
        assert MessageTopics.from_dict(document) == MessageTopics()


def test_what_a_message_is_about_takes_the_place_of_what_was_picked_then():
    facts = MessageTopics().say(["a", "b"], [BREAD]).assign(["a"], BOATS)
    assert facts.held(label) == FixedTopics(said={"b": ("Bread",)}, about={"a": ("Boats",)})
    assert facts.assign(["b"], None).held(label).about == {"a": ("Boats",), "b": ()}


def test_what_a_message_is_not_about_leaves_the_other_topics_of_the_pick():
    facts = MessageTopics().say(["a"], [BREAD, BOATS]).deny(["a"], BREAD)
    held = facts.held(label)
    assert (held.said, held.apart) == ({"a": ("Boats",)}, {"a": frozenset({"Bread"})})
    assert facts.assign(["a"], BREAD).held(label).apart == {}
    assert facts.assign(["a"], BREAD).deny(["a"], BREAD).held(label).about == {}


def test_a_topic_is_known_by_its_id_and_a_typed_one_by_its_label():
    facts = MessageTopics().say(["a"], [BREAD]).say(["a"], [BREAD._replace(label="Loaf"), TYPED])
    assert facts.said == {"a": (BREAD, TYPED)}


def test_a_deleted_topic_holds_nothing_and_one_about_nothing_still_holds():
    facts = MessageTopics().say(["a"], [BREAD]).assign(["b"], BREAD).assign(["c"], None)
    assert facts.held(lambda _: "") == FixedTopics(about={"c": ()})


def test_facts_go_along_with_copied_messages():
    facts = MessageTopics().say(["a", "b"], [BREAD]).assign(["c"], BOATS)
    copied = facts.renamed({"a": "x", "c": "z"})
    assert (copied.said, copied.about) == ({"x": (BREAD,)}, {"z": (BOATS,)})


@given(STEPS, STEPS, STEPS)
def test_changes_of_both_sides_are_merged_message_by_message(first, theirs, ours):
    base = told(first)
    other, own = told(theirs, base), told(ours, base)
    now = merged_topics(base, other, own)
    for name in ("said", "about", "not_about"):
        before, them, us = (getattr(each, name) for each in (base, other, own))
        wanted = {i: us.get(i) if us.get(i) != before.get(i) else them.get(i) for i in "abc"}
        assert getattr(now, name) == {i: names for i, names in wanted.items() if names is not None}
    assert merged_topics(base, base, own) == own
    assert merged_topics(base, other, base) == other
