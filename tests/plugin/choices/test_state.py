from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.chat.documents.document import MOST_MESSAGES
from smart_context.chat.messages import MessageId
from smart_context.plugin.choices.state import (
    MAX_CONTEXTS,
    MAX_LABEL_LENGTH,
    MAX_LABELS,
    MAX_TARGETS,
    FilterState,
    merged,
)
from smart_context.plugin.choices.topic_edits import TopicEdits

ids = st.lists(st.sampled_from([MessageId(c) for c in "abcdef"]), max_size=6)
steps = st.lists(st.tuples(st.sampled_from(["pin", "hide", "release"]), ids), max_size=8)


def test_selecting_replaces_the_selection_and_keeps_each_label_once():
    state = FilterState().select(["LangGraph", " Debugging ", "LangGraph"])
    assert state.active_topics == ("LangGraph", "Debugging")
    assert state.select([]).active_topics == ()


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param([""], id="an empty label"),
        pytest.param(["   "], id="a label of spaces"),
        pytest.param(["x" * (MAX_LABEL_LENGTH + 1)], id="a label that is too long"),
        pytest.param([str(n) for n in range(MAX_LABELS + 1)], id="too many labels"),
    ],
)
def test_a_selection_that_no_chat_can_have_is_refused(labels):
    with pytest.raises(ValueError, match="topics"):
        FilterState().select(labels)


@pytest.mark.parametrize("labels", [("b", "a"), ("a", "b", "a"), (" b", "a ")])
def test_the_topics_that_are_picked_already_are_the_same_choice_in_any_order(labels):
    state = FilterState().select(["a", "b"])
    assert state.select(labels) == state


def test_switching_similarity_off_clears_the_selection_and_on_does_not_bring_it_back():
    state = FilterState().select(["LangGraph"]).switch(enabled=False)
    assert state.active_topics == ()
    assert state.switch(enabled=True).active_topics == ()


def test_switching_similarity_on_keeps_the_selection():
    state = FilterState().select(["L"]).switch(enabled=True)
    assert (state.active_topics, state.embedding_search) == (("L",), True)
    assert state.switch(enabled=False).embedding_search is False


def test_switching_similarity_off_leaves_pins_alone():
    assert FilterState().pin([MessageId("a")]).switch(enabled=False).pinned == ("a",)


@given(steps)
def test_no_message_is_ever_both_pinned_and_hidden(steps):
    state = FilterState()
    for verb, chosen in steps:
        state = getattr(state, verb)(chosen)
        assert not set(state.pinned) & set(state.hidden)
        assert set(chosen) <= set({"pin": state.pinned, "hide": state.hidden}.get(verb, chosen))


@given(steps)
def test_a_state_survives_its_file(steps):
    state = FilterState().select(["咖啡", "LangGraph"]).switch(enabled=True)
    for verb, chosen in steps:
        state = getattr(state, verb)(chosen)
    assert FilterState.from_dict(state.to_dict()) == state


DOCUMENT = {
    "version": 1,
    "active_topics": ["Cats", "Dogs"],
    "embedding_search": False,
    "pinned": ["m1"],
    "hidden": ["m2", "m3"],
    "contexts": ["trip", "work"],
    "threshold": 0.25,
    "edits": {"renamed": {"Cats": "Felines"}, "deleted": ["Owls"], "added": ["Piano"]},
    "role": "reviewer",
    "role_targets": ["src/", "a.py"],
    "file_tools": False,
}


def test_a_file_holds_all_that_was_chosen():
    state = FilterState(
        active_topics=("Cats", "Dogs"),
        embedding_search=False,
        pinned=("m1",),
        hidden=("m2", "m3"),
        contexts=("trip", "work"),
        threshold=0.25,
        edits=TopicEdits(renamed={"Cats": "Felines"}, deleted=("Owls",), added=("Piano",)),
        role="reviewer",
        role_targets=("src/", "a.py"),
        file_tools=False,
    )
    assert state.to_dict() == DOCUMENT
    assert FilterState.from_dict(DOCUMENT) == state


def test_a_file_holds_no_more_of_nothing_than_old_versions_read():
    assert FilterState().to_dict() == {
        "version": 1,
        "active_topics": [],
        "embedding_search": None,
        "pinned": [],
        "hidden": [],
        "contexts": [],
    }


@pytest.mark.parametrize(
    ("key", "most"),
    [("active_topics", MAX_LABELS), ("contexts", MAX_CONTEXTS), ("role_targets", MAX_TARGETS)],
)
def test_a_file_with_too_much_is_read_up_to_the_limit(key, most):
    many = [str(number) for number in range(most + 1)]
    state = FilterState.from_dict({key: many})
    assert getattr(state, key) == tuple(many[:most])
    assert FilterState.from_dict(state.to_dict()) == state


def test_a_file_that_hides_what_it_pins_is_read_as_pinning_it():
    state = FilterState.from_dict({"pinned": ["a", "a"], "hidden": ["a", "b", "b", ""]})
    assert (state.pinned, state.hidden) == (("a",), ("b",))


@pytest.mark.parametrize(
    ("value", "threshold"), [(1, 1.0), (-1, -1.0), (0.5, 0.5), (1.01, None), (-1.01, None)]
)
def test_a_threshold_is_from_minus_one_to_one(value, threshold):
    assert FilterState.from_dict({"threshold": value}).threshold == threshold
    if threshold is None:
        with pytest.raises(ValueError, match=f"^threshold: expected a number .* found {value}$"):
            FilterState().set_threshold(value)
    else:
        assert FilterState().set_threshold(value).threshold == threshold
        assert FilterState(threshold=value).set_threshold(None).threshold is None


def test_contexts_are_attached_in_order_once_and_not_without_end():
    state = FilterState().attach("a").attach("b").attach("a")
    assert state.contexts == ("a", "b")
    assert state.detach("a").detach("gone").contexts == ("b",)
    for number in range(MAX_CONTEXTS - 2):
        state = state.attach(str(number))
    assert len(state.attach("a").contexts) == MAX_CONTEXTS
    with pytest.raises(ValueError, match=f"^key: expected at most {MAX_CONTEXTS} contexts"):
        state.attach("one more")


def test_a_role_has_its_files_and_takes_them_with_it():
    state = FilterState().take_role("reviewer", ["b.py", " ", "a.py", "b.py"])
    assert (state.role, state.role_targets) == ("reviewer", ("b.py", "a.py"))
    assert state.take_role("coder").role_targets == ()
    assert state.take_role("", ["a.py"]) == FilterState()
    many = [str(number) for number in range(MAX_TARGETS)]
    assert state.take_role("coder", many).role_targets == tuple(many)
    with pytest.raises(ValueError, match=f"^targets: expected at most {MAX_TARGETS}, found 65$"):
        state.take_role("coder", [*many, "one more"])


def test_what_is_pinned_or_hidden_again_keeps_its_place():
    state = FilterState().pin(["a", "b"]).hide(["c"])
    assert state.pin(["c", "a"]).pinned == ("b", "c", "a")
    assert state.pin(["b", "a"]) == state
    assert state.hide(["c"]) == state
    assert state.hide(["c", "a"]).hidden == ("c", "a")
    assert state.release(["a", "c"]) == FilterState(pinned=("b",))


def test_as_many_and_as_long_labels_as_there_may_be_can_be_picked():
    many = [str(number).ljust(MAX_LABEL_LENGTH, "x") for number in range(MAX_LABELS)]
    assert FilterState().select(many).active_topics == tuple(many)
    with pytest.raises(ValueError, match=r"^topics: expected at most 64 labels, found 65$"):
        FilterState().select([*many, "one more"])
    with pytest.raises(ValueError, match=r"^topics: a label has 1 to 200 characters, found 0$"):
        FilterState().select([" "])


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"active_topics": "LangGraph", "pinned": None, "hidden": 3, "embedding_search": "on"},
        {"active_topics": [1, None, ""], "pinned": [{}], "role": 5, "role_targets": "a"},
    ],
)
def test_a_file_of_another_make_reads_as_an_empty_state(document):
    assert FilterState.from_dict(document) == FilterState()


labels = st.lists(st.sampled_from(["Cats", "Dogs", "Owls"]), unique=True)
names = st.sampled_from(["", "coder", "reviewer"])
states = st.builds(
    lambda pinned, hidden, contexts, topics, role, threshold: (
        FilterState(
            contexts=tuple(contexts), active_topics=tuple(topics), role=role, threshold=threshold
        )
        .pin(pinned)
        .hide(hidden)
    ),
    ids,
    ids,
    labels,
    labels,
    names,
    st.sampled_from([None, 0.3, 0.6]),
)


@given(states, states)
def test_merging_with_a_side_that_changed_nothing_gives_the_other(base, changed):
    assert merged(base, base, changed) == changed
    assert merged(base, changed, base) == changed


@given(states, states, states)
def test_merging_keeps_what_both_sides_did(base, theirs, ours):
    state = merged(base, theirs, ours)
    assert not set(state.pinned) & set(state.hidden)
    assert set(ours.pinned) - set(base.pinned) <= set(state.pinned)
    assert set(ours.hidden) - set(base.hidden) <= set(state.hidden)
    assert not (set(base.pinned) - set(ours.pinned) - set(ours.hidden)) & set(state.pinned)
    assert set(state.contexts) == (set(theirs.contexts) - set(base.contexts)) | (
        set(base.contexts) & set(theirs.contexts) & set(ours.contexts)
    ) | (set(ours.contexts) - set(base.contexts))
    for part in ("role", "threshold", "active_topics"):
        started, now, wanted = (getattr(side, part) for side in (base, theirs, ours))
        assert getattr(state, part) == (now if wanted == started else wanted)


def test_merged_contexts_are_theirs_and_then_ours():
    base = FilterState(contexts=("a", "b", "c"))
    theirs = FilterState(contexts=("c", "b", "x"))
    ours = FilterState(contexts=("a", "c", "y"))
    assert merged(base, theirs, ours).contexts == ("c", "x", "y")


def test_parts_that_belong_together_are_merged_together():
    base = FilterState().take_role("reviewer", ["a.py"]).select(["Cats"])
    theirs = base.take_role("coder", ["b.py"]).switch(enabled=False)
    ours = base.take_role("reviewer", ["c.py"]).select(["Dogs"])
    state = merged(base, theirs, ours)
    assert (state.role, state.role_targets) == ("reviewer", ("c.py",))
    assert (state.active_topics, state.embedding_search) == (("Dogs",), None)
    assert merged(base, theirs, base.set_threshold(0.5)) == theirs.set_threshold(0.5)
    edits = TopicEdits(added=("Piano",))
    assert merged(base, theirs, replace(base, edits=edits)) == replace(theirs, edits=edits)


def test_what_one_side_released_is_released():
    base = FilterState().pin(["a", "b"]).hide(["c", "d"])
    state = merged(base, base.pin(["e"]), base.release(["a", "c"]))
    assert (state.pinned, state.hidden) == (("b", "e"), ("d",))
    moved = merged(base, base.pin(["e"]), base.hide(["a"]))
    assert (moved.pinned, moved.hidden) == (("b", "e"), ("c", "d", "a"))


def test_a_file_pins_and_hides_as_many_messages_as_a_chat_has_at_most():
    names = [f"m{number}" for number in range(MOST_MESSAGES + 1)]
    state = FilterState.from_dict({"pinned": names, "hidden": [f"h{name}" for name in names]})
    assert state.pinned == tuple(names[:-1])
    assert len(state.hidden) == MOST_MESSAGES
