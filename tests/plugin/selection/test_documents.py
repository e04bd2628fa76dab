"""The filter of a chat as clients get it."""

from dataclasses import replace

import numpy as np

from smart_context.chat.compaction import summary_message
from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.plugin.choices.sidecars import ChatSidecar
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.choices.undo import UndoPreview
from smart_context.plugin.selection.decision import ChatView, Decision
from smart_context.plugin.selection.documents import filter_result
from smart_context.plugin.selection.status_line import status
from smart_context.relevance.score import Scores
from smart_context.relevance.select import select_messages
from smart_context.topics.values import Topic

MESSAGES = tuple(
    Message(id=MessageId(name), role="user", content=name) for name in ("a", "b", "c", "d", "e")
)
TOPICS = (
    {"label": "Bread", "count": 2, "id": "t1"},
    {"label": "Standing instructions", "sticky": True, "message_ids": ["c", "gone"], "count": 1},
    {"count": 3},
)
STATE = FilterState(
    active_topics=("Bread", "Travel"),
    pinned=(MessageId("e"),),
    hidden=(MessageId("b"),),
    role="baker",
)
SCORES = Scores(
    labels=("Bread", "Travel"),
    values=np.array(
        [[0.9, 0.8, 0.1, 0.2, 0.1], [0.1, 0.2, 0.3, 0.7, 0.2]],
        dtype=np.float32,
    ),
)


def decided(state=STATE, *, scores=SCORES, threshold=0.5, problem=""):
    view = ChatView(
        chat_id=ChatId("c"),
        messages=MESSAGES,
        history=MESSAGES,
        topics=TOPICS,
        sidecar=ChatSidecar(state=state),
    )
    selection = select_messages(
        MESSAGES,
        scores=scores,
        threshold=threshold,
        sticky=view.sticky_ids,
        pinned=frozenset(state.pinned),
        hidden=frozenset(state.hidden),
    )
    kept = tuple(message for message in MESSAGES if message.id in selection.kept)
    decision = Decision(messages=kept, selection=selection, candidates=MESSAGES, problem=problem)
    return view, decision


def document_of(view, decision):
    return filter_result(view, decision, role_problem="", undoable=UndoPreview())


def test_a_filter_tells_what_is_sent_and_what_the_user_chose():
    view, decision = decided(problem="The embedder is slow.")
    result = filter_result(
        view,
        decision,
        role_problem="The role is gone.",
        undoable=UndoPreview(count=3, words="a pinned"),
    )
    assert result == {
        "active_topics": ["Bread", "Travel"],
        "message_ids": ["a", "c", "d", "e"],
        "total_messages": 5,
        "fell_back": False,
        "status": status(view, decision).line,
        "short_status": "4 of 5",
        "problem": "The embedder is slow. The role is gone.",
        "threshold": 0.5,
        "cut": 0.5,
        "threshold_is_own": False,
        "pinned": ["e"],
        "hidden": ["b"],
        "sticky": ["c"],
        "kept_by": {"Bread": ["a"], "Travel": ["d"]},
        "summed_up": {},
        "silent": {},
        "role": "baker",
        "undo_steps": 3,
        "undo_words": "a pinned",
        "moved": [],
    }


def test_topics_tell_how_much_of_them_a_summary_stands_for():
    a, b, c, *_ = MESSAGES
    summary = summary_message(
        MessageId("s"), "About a and b.", boundary=b.id, created_at="", kind="compacted"
    )
    topics = (
        Topic(id="t1", label="Bread", count=2, message_ids=(a.id, b.id)),
        Topic(id="t2", label="Travel", count=2, message_ids=(b.id, c.id)),
        Topic(id="t3", label="Tea", count=1, message_ids=(c.id,)),
    )
    view, decision = decided()
    view = replace(view, messages=(a, b, summary, c), sidecar=replace(view.sidecar, topics=topics))
    assert document_of(view, replace(decision, candidates=(summary, c)))["summed_up"] == {
        "t1": 2,
        "t2": 1,
    }


def test_a_topic_of_which_nothing_can_be_sent_says_why_and_so_does_picking_it():
    a, b, *_ = MESSAGES
    topics = (
        Topic(id="t1", label="Bread", count=2, message_ids=(a.id, b.id)),
        Topic(id="t2", label="Travel", count=1, message_ids=(b.id,)),
        Topic(id="t3", label="Tea", count=0),
    )
    view, decision = decided(replace(STATE, hidden=(a.id, b.id)))
    view = replace(view, sidecar=replace(view.sidecar, topics=topics))
    document = document_of(view, decision)
    muted = "muted: its messages are hidden, so none of them is sent, also when it is picked"
    assert document["silent"] == {"t1": muted, "t2": muted}
    assert document["problem"] == f"Bread is {muted}. Travel is {muted}."
    view, decision = decided(replace(STATE, hidden=(b.id,)))
    view = replace(view, sidecar=replace(view.sidecar, topics=topics))
    assert list(document_of(view, decision)["silent"]) == ["t2"]


def test_a_topic_that_is_all_behind_a_summary_says_so_and_not_that_it_is_muted():
    a, b, c, *_ = MESSAGES
    summary = summary_message(
        MessageId("s"), "About a and b.", boundary=b.id, created_at="", kind="compacted"
    )
    topics = (Topic(id="t1", label="Bread", count=2, message_ids=(a.id, b.id)),)
    view, decision = decided(FilterState(active_topics=("Bread",)))
    view = replace(view, messages=(a, b, summary, c), sidecar=replace(view.sidecar, topics=topics))
    document = document_of(view, replace(decision, candidates=(summary, c)))
    assert document["silent"]["t1"].startswith("summed up or cleared: ")
    wider = replace(topics[0], message_ids=(a.id, c.id))
    sidecar = replace(view.sidecar, topics=(wider,), state=FilterState(hidden=(c.id,)))
    both = document_of(replace(view, sidecar=sidecar), replace(decision, candidates=(summary, c)))
    assert both["silent"]["t1"].startswith("silent: ")


def test_a_threshold_that_the_user_moved_is_the_chats_own():
    document = document_of(*decided(replace(STATE, threshold=0.25), threshold=0.25))
    assert (document["threshold"], document["threshold_is_own"]) == (0.25, True)
    assert document["problem"] == ""


def test_each_topic_tells_all_messages_that_it_keeps():
    document = document_of(*decided(FilterState(active_topics=("Bread", "Travel"))))
    assert document["kept_by"] == {"Bread": ["a", "b"], "Travel": ["d"]}


def test_no_topic_keeps_a_message_when_none_is_picked_or_none_matches():
    assert document_of(*decided(FilterState(), scores=None))["kept_by"] == {}
    document = document_of(*decided(FilterState(active_topics=("Bread",)), threshold=2.0))
    assert document["fell_back"]
    assert document["kept_by"] == {}
