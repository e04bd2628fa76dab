"""Rows of a forecast: the status line and the reasons say the same of each message."""

from dataclasses import replace

import numpy as np
import pytest

from smart_context.chat.compaction import summary_message
from smart_context.chat.messages import Message
from smart_context.plugin.choices.sidecars import ChatSidecar
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.forecast.costs import NO_TOKENS, Costs
from smart_context.plugin.forecast.forecasts import Forecast
from smart_context.plugin.forecast.rows import ONE_LINE, all_rows, candidate_rows, rows_by_id
from smart_context.plugin.selection.decision import ChatView, Decision
from smart_context.plugin.selection.status_line import status
from smart_context.relevance.reasons import KINDS, ReasonKind, Reasons
from smart_context.relevance.score import Scores
from smart_context.relevance.select import Selection
from smart_context.topics.values import Topic

SUMMARY = summary_message("s", "So far.", boundary="m1", created_at="", kind="compacted")
CHAT = (
    Message(id="m0", role="user", content="One"),
    Message(id="m1", role="assistant", content="Two"),
    SUMMARY,
    Message(id="bad", role="assistant", content="", error="no answer"),
    Message(id="m2", role="user", content="Long \n" * ONE_LINE),
    Message(id="m3", role="user", content="Last"),
)


@pytest.fixture
def forecast():
    """The summary and the last message are sent, `m2` is hidden by the user."""
    candidates = (SUMMARY, *CHAT[4:])
    kinds = (ReasonKind.STICKY, ReasonKind.HIDDEN, ReasonKind.RECENT)
    reasons = Reasons(
        ids=tuple(message.id for message in candidates),
        kinds=np.array([KINDS.index(kind) for kind in kinds], dtype=np.int8),
        found=None,
        threshold=0.4,
        recent=1,
    )
    selection = Selection(kept=("s", "m3"), fell_back=False, reasons=reasons)
    return Forecast(
        view=ChatView(
            chat_id="c", messages=CHAT, history=candidates, topics=(), sidecar=ChatSidecar()
        ),
        decision=Decision(
            messages=(candidates[0], candidates[2]), selection=selection, candidates=candidates
        ),
        costs=Costs(tokens=np.array([7, 20, 4]), parts=np.zeros(3, np.int8), hidden_text={}),
        tokens=NO_TOKENS,
        attached={},
    )


def test_each_candidate_has_a_row_with_its_reason_and_tokens(forecast):
    rows = candidate_rows(forecast)
    assert [(row["id"], row["in"], row["kind"], row["tokens"]) for row in rows] == [
        ("s", True, "sticky", 7),
        ("m2", False, "hidden", 20),
        ("m3", True, "recent", 4),
    ]
    assert all("\n" not in row["text"] and len(row["text"]) <= ONE_LINE for row in rows)


def test_a_row_says_who_spoke_what_decided_and_how_close_it_came(forecast):
    scores = Scores(labels=("Bread",), values=np.array([[0.123456, 0.9, 0.5]], dtype=np.float32))
    selection = forecast.decision.selection
    kinds = selection.reasons.kinds.copy()
    kinds[0] = KINDS.index(ReasonKind.TOPIC)
    reasons = replace(selection.reasons, found=scores, kinds=kinds)
    decision = replace(forecast.decision, selection=replace(selection, reasons=reasons))
    assert candidate_rows(replace(forecast, decision=decision))[0] == {
        "id": "s",
        "role": SUMMARY.role,
        "in": True,
        "kind": "topic",
        "reason": "in: about Bread",
        "short": "Sent – about Bread",
        "numbers": "similarity 0.12, threshold 0.40",
        "score": 0.1235,
        "topic": "Bread",
        "tokens": 7,
        "text": "So far.",
    }


def test_the_others_have_a_row_when_they_are_asked_for(forecast):
    rows = rows_by_id(forecast, {"m0", "bad", "m3", "unknown"}, len)
    assert {name: row["reason"] for name, row in rows.items()} == {
        "m0": "out: behind a summary",
        "bad": "out: this answer failed",
        "m3": "in: the newest message",
    }
    assert rows["m0"]["tokens"] == len("One")
    assert rows["m0"]["score"] is None
    assert rows["m0"]["topic"] == ""


def test_a_preview_has_the_others_too_in_the_order_of_the_chat(forecast):
    rows = all_rows(forecast, len)
    assert [row["id"] for row in rows if row["id"] != "s"] == [
        message.id for message in CHAT if message.id != "s"
    ]
    assert {row["id"]: row for row in rows} == rows_by_id(
        forecast, {message.id for message in CHAT}, len
    )


def test_the_status_line_counts_as_many_as_the_rows_say(forecast):
    rows = rows_by_id(forecast, {message.id for message in CHAT}, len)
    summarised = sum(row["kind"] == "summarised" for row in rows.values())
    sent = sum(row["in"] for row in rows.values())
    line = status(forecast.view, forecast.decision).line
    assert line == f"{sent} of {len(CHAT)} messages in context · {summarised} summed up"


def test_what_came_after_the_summary_is_over_budget_in_both(forecast):
    decision = replace(
        forecast.decision, candidates=(SUMMARY, CHAT[5]), messages=(SUMMARY, CHAT[5])
    )
    reasons = replace(
        decision.selection.reasons,
        ids=("s", "m3"),
        kinds=decision.selection.reasons.kinds[[0, 2]],
    )
    decision = replace(decision, selection=replace(decision.selection, reasons=reasons))
    forecast = replace(forecast, decision=decision)
    rows = rows_by_id(forecast, {"m2"}, len)
    assert rows["m2"]["reason"] == "out: over budget"
    assert status(forecast.view, forecast.decision).line.endswith("2 summed up · 1 over the window")


@pytest.mark.parametrize(
    ("picked", "about"),
    [
        (["Bread"], {"m2": "Travel", "m3": "Travel"}),
        (["Crust"], {"m0": "Bread", "m2": "Travel", "m3": "Travel"}),
        (["Travel"], {"m0": "Bread"}),
        (["Bread", "Travel"], {}),
    ],
)
def test_a_message_that_is_left_out_is_named_by_the_topic_that_is_not_picked(
    forecast, picked, about
):
    topics = (
        Topic(label="Bread", id="b", count=2, message_ids=("m0", "m1")),
        Topic(label="Crust", id="c", parent_id="b", count=1, message_ids=("m1",)),
        Topic(label="Travel", id="t", count=3, message_ids=("m1", "m2", "m3")),
    )
    state = FilterState(active_topics=tuple(picked))
    view = replace(forecast.view, sidecar=ChatSidecar(state=state, topics=topics))
    assert replace(forecast, view=view).unpicked_topics == about


def test_a_row_below_the_cut_names_the_topic_that_is_not_picked(forecast):
    kinds = np.array([KINDS.index(ReasonKind.BELOW)] * 3, dtype=np.int8)
    selection = forecast.decision.selection
    reasons = replace(selection.reasons, kinds=kinds)
    travel = Topic(label="Travel", count=1, message_ids=("m2",))
    sidecar = ChatSidecar(state=FilterState(active_topics=("Bread",)), topics=(travel,))
    rows = candidate_rows(
        replace(
            forecast,
            view=replace(forecast.view, sidecar=sidecar),
            decision=replace(forecast.decision, selection=replace(selection, reasons=reasons)),
        )
    )
    assert [row["short"] for row in rows] == [
        "Not sent – not close enough to the topic",
        "Not sent – about Travel, which is not picked",
        "Not sent – not close enough to the topic",
    ]
