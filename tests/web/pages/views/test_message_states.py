"""How a page shows each message before its script runs."""

from dataclasses import replace

import pytest

from smart_context.chat.messages import Message
from smart_context.web.pages.views.message_states import message_states
from smart_context.web.pages.views.message_views import CompactionView
from smart_context.web.pages.views.panel_view import bubbles, early_panel


def chat(words):
    """Messages `a`; `a?` is the user's, `a*` being written, `a!` failed, `a.` a notice."""
    return [
        Message(
            id=word[0],
            role="user" if "?" in word else "assistant",
            content=({"type": "info", "text": "Stopped."},) if "." in word else "x",
            generating="*" in word,
            error="down" if "!" in word else "",
            is_summary="=" in word,
        )
        for word in words.split()
    ]


def panel(inside, **state):
    ids = None if inside is None else frozenset(inside)
    return replace(early_panel([]), message_ids=ids, state=state)


def shown(words, panel, compacted=0, **options):
    """Each message: `+` in context, `-` out, `(3 -)` a line for three that are folded."""
    states = message_states(chat(words), panel, CompactionView(count=compacted), **options)
    drawn = []
    for state in states:
        sign = "+" if state.is_inside else "-" if state.is_out else "."
        drawn.append(f"({state.line}" if state.line else "")
        drawn.append(f"{sign}{'_' if state.is_folded else ''}")
    return " ".join(filter(None, drawn))


@pytest.mark.parametrize(
    ("words", "inside", "expected"),
    [
        pytest.param("a b c", None, ". . .", id="nothing is known yet"),
        pytest.param("a b c", "abc", "+ + +", id="all are sent"),
        pytest.param("a b c d", "c", "(2 -_ -_ + (1 -_", id="runs are folded"),
        pytest.param("a b", "", "(2 -_ -_", id="none is sent"),
        pytest.param("a b! c", "", "(1 -_ - (1 -_", id="a failed answer keeps its button"),
        pytest.param("a b. c", "ac", "+ - +", id="a notice is not replaced by a line"),
        pytest.param("a b= c", "", "(1 -_ - (1 -_", id="a summary keeps its button"),
        pytest.param("a b? c*", "", "(1 -_ . .", id="the question that is being answered is sent"),
        pytest.param("a b c*", "", "(2 -_ -_ .", id="an answer without its question"),
    ],
)
def test_messages_that_are_out_are_folded(words, inside, expected):
    assert shown(words, panel(inside)) == expected


def test_what_a_summary_replaces_is_folded_unless_it_is_kept_anyway():
    assert shown("a b! c= d", panel(None, pinned=["a"]), compacted=3) == ". (2 -_ -_ ."
    assert shown("a b c", panel(None, sticky=["b"]), compacted=2) == "(1 -_ . ."
    assert shown("a b c", None, compacted=2) == "(2 -_ -_ ."
    assert shown("a b c", panel("ac"), compacted=1) == "+ (1 -_ +"


def test_nothing_is_folded_where_the_filter_fell_back_or_in_a_fragment():
    assert shown("a b", panel("b", fell_back=True)) == "- +"
    assert shown("a b", panel("b"), folds=False) == "- +"


def test_messages_have_the_colour_of_the_picked_topic_that_keeps_them():
    stored = [{"id": f"t{n}", "label": label, "count": 1} for n, label in enumerate("xyz")]
    topics, _ = bubbles(stored, ["x", "y"])
    x, y, _ = (topic.hue for topic in topics)
    found = replace(panel("abd", kept_by={"x": ["a"], "y": ["b", "c"], "z": ["d"]}), topics=topics)
    states = message_states(chat("a b c d"), found, CompactionView())
    assert [state.hue for state in states] == [x, y, None, None]


@pytest.mark.parametrize("picked", [["x"], ["x", "y"]])
def test_where_nobody_knows_what_keeps_a_message_the_only_topic_picked_gives_the_colour(picked):
    topics, _ = bubbles([{"id": n, "label": n, "count": 1} for n in "xy"], picked)
    states = message_states(chat("a b"), replace(panel("a"), topics=topics), CompactionView())
    only = topics[0].hue if len(picked) == 1 else None
    assert [state.hue for state in states] == [only, None]


def test_the_newest_that_are_drawn_are_laid_out_at_once():
    messages = chat(" ".join(chr(ord("A") + n) for n in range(57)))
    inside = {message.id for message in messages[:50]}
    states = message_states(messages, panel(inside), CompactionView())
    near = [place for place, state in enumerate(states) if state.is_near_end]
    assert near == list(range(10, 57))


def test_the_answers_of_no_model_are_folded_with_their_questions_but_for_the_newest():
    said = [replace(message, extra={"extracted": True}) for message in chat("b d f h")]
    asked = chat("a? c? e? g?")
    messages = [message for pair in zip(asked, said, strict=True) for message in pair]
    states = message_states(messages, panel("a"), CompactionView())
    assert [state.is_folded for state in states] == [False, False, *[True] * 5, False]
    assert [state.line for state in states] == [0, 0, 3, *[0] * 5]
