"""The last choices of a user, and what a step back changes in words."""

from dataclasses import replace

import pytest

from smart_context.base.values import OWNER, PersonId
from smart_context.plugin.choices.sidecars import ChatSidecar
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.choices.topic_edits import TopicEdits
from smart_context.plugin.choices.undo import (
    MAX_CHATS,
    MAX_STEPS,
    StepMemory,
    Summary,
    TopicEdit,
    TopicMoves,
    UndoPreview,
    UndoStep,
    UndoSteps,
    difference_in_words,
)
from smart_context.topics.values import Topic

EMPTY = FilterState()
CATS, DOGS = Topic(label="Cats", count=2, id="t1"), Topic(label="Dogs", count=1, id="t2")


def picked(label):
    return EMPTY.select([label])


def recorded(count, chat_id="c"):
    steps = UndoSteps()
    for n in range(count):
        steps.record(chat_id, ChatSidecar(state=picked(f"before {n}")), picked(f"after {n}"))
    return steps


@pytest.mark.parametrize(
    ("now", "words"),
    [
        pytest.param(EMPTY, "nothing", id="equal states"),
        pytest.param(picked("cats"), "the filter", id="a topic is picked"),
        pytest.param(EMPTY.switch(enabled=False), "the filter", id="the switch is off"),
        pytest.param(EMPTY.pin(["m"]), "pinned messages", id="a pin"),
        pytest.param(EMPTY.hide(["m"]), "hidden messages", id="a hidden message"),
        pytest.param(EMPTY.set_threshold(0.5), "the threshold", id="a threshold"),
        pytest.param(EMPTY.attach("trip"), "the contexts", id="a context"),
        pytest.param(EMPTY.take_role("reviewer"), "the role", id="a role"),
        pytest.param(
            replace(EMPTY.take_role("reviewer"), edits=TopicEdits().add("dogs")),
            "the topics",
            id="topics come first",
        ),
    ],
)
def test_a_step_back_is_named_by_what_it_changes(now, words):
    assert difference_in_words(now, EMPTY) == words
    assert difference_in_words(EMPTY, now) == words


def test_steps_come_back_newest_first_until_there_are_none():
    steps = recorded(2)
    assert steps.undoable("c").count == 2
    assert [steps.pop("c").after for _ in range(2)] == [picked("after 1"), picked("after 0")]
    assert steps.pop("c") is None
    assert steps.undoable("c").count == 0


def test_the_oldest_steps_are_forgotten_when_there_are_too_many():
    steps = recorded(MAX_STEPS + 1)
    assert steps.undoable("c").count == MAX_STEPS
    popped = [steps.pop("c") for _ in range(MAX_STEPS)]
    assert popped[-1].before.state == picked("before 1")


def test_the_chat_that_was_changed_longest_ago_is_forgotten():
    steps = UndoSteps()
    for n in range(MAX_CHATS):
        steps.record(f"c{n}", ChatSidecar(), picked("cats"))
    steps.record("c0", ChatSidecar(), picked("dogs"))
    steps.record("one more", ChatSidecar(), picked("cats"))
    assert (steps.undoable("c0").count, steps.undoable("c1").count, steps.undoable("c2").count) == (
        2,
        0,
        1,
    )


def test_topics_are_added_to_the_last_step_only():
    steps = recorded(3)
    edit = TopicEdit(before=(CATS, DOGS), after=(CATS,))
    steps.amend("c", edit)
    steps.amend("unknown chat", edit)
    amended = steps.pop("c")
    assert (amended.after, amended.topics) == (picked("after 2"), edit)
    assert [steps.pop("c").topics for _ in range(2)] == [None, None]


@pytest.mark.parametrize(
    "after",
    [
        pytest.param((CATS,), id="deleted"),
        pytest.param((CATS, replace(DOGS, label="Hounds")), id="renamed"),
        pytest.param((CATS, DOGS, Topic(label="Own", count=0, id="t3")), id="added"),
        pytest.param((replace(CATS, label="Pets", count=3),), id="merged"),
    ],
)
def test_an_edit_of_topics_is_undone_and_what_was_found_since_then_stays(after):
    edit = TopicEdit(before=(CATS, DOGS), after=after)
    assert edit.undone(after) == edit.before
    grown = tuple(replace(topic, count=topic.count + 3) for topic in after)
    undone = edit.undone((*grown, Topic(label="Birds", count=1, id="t4")))
    assert sorted(topic.label for topic in undone) == ["Birds", "Cats", "Dogs"]
    assert next(topic.count for topic in undone if topic.label == "Cats") > CATS.count


TURNS = [
    pytest.param(EMPTY, EMPTY.select(["Cats"]), "Cats picked", id="a pick"),
    pytest.param(EMPTY.select(["Cats"]), EMPTY, "Filter cleared", id="no pick"),
    pytest.param(EMPTY.select(["A", "B"]), EMPTY.select(["A"]), "B taken out", id="one pick fewer"),
    pytest.param(EMPTY, EMPTY.pin(["m", "n"]), "2 messages pinned", id="pins"),
    pytest.param(EMPTY.hide(["m"]), EMPTY, "1 message shown again", id="unhidden"),
    pytest.param(EMPTY, EMPTY.attach("trip"), "trip attached", id="a context"),
    pytest.param(EMPTY, EMPTY.set_threshold(0.5), "Strictness changed", id="a threshold"),
    pytest.param(EMPTY, EMPTY.switch(enabled=False), "Filter switched off", id="the switch"),
    pytest.param(EMPTY, EMPTY.take_role("cook"), "Role changed", id="a role"),
]


@pytest.mark.parametrize(("before", "after", "words"), TURNS)
def test_an_undo_says_beforehand_what_it_takes_back(before, after, words):
    steps = UndoSteps()
    steps.record("c", ChatSidecar(state=before), after)
    assert steps.undoable("c").words == words


@pytest.mark.parametrize(
    ("after", "words"),
    [
        pytest.param((CATS,), "Dogs deleted", id="deleted"),
        pytest.param((CATS, replace(DOGS, label="Hounds")), "Dogs renamed to Hounds", id="renamed"),
        pytest.param(
            (CATS, DOGS, Topic(label="Own", count=0, id="t3")),
            "Own added",
            id="a topic of one's own",
        ),
        pytest.param((replace(CATS, count=3),), "Dogs merged into Cats", id="merged"),
    ],
)
def test_an_undo_of_an_edit_names_the_topics(after, words):
    steps = recorded(1)
    steps.amend("c", TopicEdit(before=(CATS, DOGS), after=after))
    assert steps.undoable("c").words == words


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({"active_topics": ("A", "B")}, {"active_topics": ("B", "A")}, id="topics"),
        pytest.param({"pinned": ("m", "n")}, {"pinned": ("n", "m")}, id="pins"),
        pytest.param({"contexts": ("x", "y")}, {"contexts": ("y", "x")}, id="contexts"),
        pytest.param({}, {"recalls": ("no recall",)}, id="a broken recall"),
    ],
)
def test_a_step_that_has_no_words_is_the_last_choice(before, after):
    steps = UndoSteps()
    steps.record("c", ChatSidecar(state=replace(EMPTY, **before)), replace(EMPTY, **after))
    assert steps.undoable("c").words == "Last choice"


def test_a_step_whose_topics_are_broken_is_the_last_choice():
    steps = recorded(1)
    steps.amend("c", TopicMoves(moves=()))
    assert steps.undoable("c") == UndoPreview(count=1, words="Last choice")


def test_a_summary_is_undone_in_its_order_unless_it_was_removed_before():
    steps = recorded(1)
    for n in range(2):
        summary = Summary(message_id=f"s{n}", words=f"{n + 3} messages summed up")
        steps.push("c", UndoStep(before=ChatSidecar(), after=EMPTY, summary=summary))
    assert steps.undoable("c").words == "4 messages summed up"
    steps.drop_summary("c", "s1")
    assert steps.undoable("c").words == "3 messages summed up"
    assert steps.pop("c").summary.message_id == "s0"
    assert steps.undoable("c").words == "after 0 picked"


def test_a_deleted_chat_has_no_steps_of_anybody_and_each_person_has_their_own():
    memory = StepMemory()
    owners, anns = UndoSteps(OWNER, memory), UndoSteps(PersonId("ann"), memory)
    owners.record("c", ChatSidecar(), replace(EMPTY, pinned=("m",)))
    assert (owners.undoable("c").count, anns.undoable("c").count) == (1, 0)
    anns.record("c", ChatSidecar(), replace(EMPTY, pinned=("m",)))
    memory.forget("c")
    memory.forget("unknown chat")
    assert (owners.undoable("c").count, anns.undoable("c").count) == (0, 0)
