import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.chat.messages import MessageId
from smart_context.plugin.choices.state import MAX_LABEL_LENGTH, MAX_LABELS, FilterState, merged

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


def test_switching_similarity_off_clears_the_selection_and_on_does_not_bring_it_back():
    state = FilterState().select(["LangGraph"]).switch(enabled=False)
    assert state.active_topics == ()
    assert state.switch(enabled=True).active_topics == ()


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


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"active_topics": "LangGraph", "pinned": None, "hidden": 3, "embedding_search": "on"},
        {"active_topics": [1, None, ""], "pinned": [{}]},
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
