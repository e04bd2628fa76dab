"""The one status line, for each way in which messages stay out of a turn."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.chat.compaction import summary_message
from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.plugin.choices.sidecars import ChatSidecar
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.selection.decision import ChatView, Decision
from smart_context.plugin.selection.status_line import status
from smart_context.relevance.reasons import KINDS, ReasonKind, Reasons
from smart_context.relevance.score import Scores
from smart_context.relevance.select import Selection


def said(count, **also):
    return [Message(id=MessageId(f"m{n}"), role="user", content="Hi", **also) for n in range(count)]


def summary(name, boundary, kind):
    return summary_message(
        MessageId(name), "…", boundary=MessageId(boundary), created_at="", kind=kind
    )


def status_of(messages, candidates, out=None, *, active=(), fell_back=False, compared=True, more=0):
    """The line for a chat of which the candidates were decided about, those in `out` left out.

    Messages are compared with the topics unless that is switched off, or fails.
    """
    out = out or {}
    kinds = [KINDS.index(out.get(m.id, ReasonKind.NO_FILTER)) for m in candidates]
    kept = tuple(m.id for m in candidates if m.id not in out)
    scores = Scores(labels=tuple(active), values=np.ones((len(active), len(candidates))))
    reasons = Reasons(
        ids=tuple(m.id for m in candidates),
        kinds=np.array(kinds, dtype=np.int8),
        found=scores if active and compared else None,
        threshold=0.4,
        recent=2,
    )
    state = replace(FilterState(), active_topics=tuple(active))
    view = ChatView(
        chat_id=ChatId("c"),
        messages=tuple(messages),
        history=(),
        topics=(),
        sidecar=ChatSidecar(state=state),
        more_topics=more,
    )
    decision = Decision(
        messages=tuple(m for m in candidates if m.id in kept),
        selection=Selection(kept=kept, fell_back=fell_back, reasons=reasons),
        candidates=tuple(candidates),
    )
    return status(view, decision)


CHAT = said(14)
WEAK = {m.id: ReasonKind.BELOW for m in CHAT[5:]}
COMPACTED = [*CHAT[:8], summary("s", "m7", "compacted"), *CHAT[8:]]
CLEARED = [*CHAT[:8], summary("s", "m7", "cleared"), *CHAT[8:]]
BOTH = [
    *CHAT[:4],
    summary("s", "m3", "cleared"),
    *CHAT[4:8],
    summary("t", "m7", "compacted"),
    *CHAT[8:],
]
ADDED = [Message(id=MessageId("added"), role="system", content="Hi")]
FAILED = [*CHAT[:-1], replace(CHAT[-1], error="The model did not answer.")]


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        pytest.param(partial(status_of, CHAT, CHAT), "All messages in context", id="no filter"),
        pytest.param(partial(status_of, [], []), "All messages in context", id="an empty chat"),
        pytest.param(
            partial(status_of, CHAT, CHAT, WEAK, active=["X"]),
            "5 of 14 messages in context",
            id="a filter",
        ),
        pytest.param(
            partial(status_of, CHAT, CHAT, active=["X"]),
            "14 of 14 messages in context",
            id="a filter that keeps all",
        ),
        pytest.param(
            partial(status_of, CHAT, CHAT, active=["X"], compared=False),
            "All messages in context",
            id="topics are picked, but the similarity switch is off",
        ),
        pytest.param(
            partial(status_of, CHAT, CHAT, active=["X"], fell_back=True),
            "No message matches; all 14 messages in context",
            id="a fallback",
        ),
        pytest.param(
            partial(status_of, COMPACTED, COMPACTED[8:], active=["X"], fell_back=True),
            "No message matches; 7 of 15 messages in context · 8 summed up",
            id="a fallback behind a summary",
        ),
        pytest.param(
            partial(status_of, CHAT, CHAT, {CHAT[0].id: ReasonKind.HIDDEN}),
            "13 of 14 messages in context",
            id="one hidden by hand",
        ),
        pytest.param(
            partial(status_of, CHAT, CHAT, {m.id: ReasonKind.OVER_BUDGET for m in CHAT[:4]}),
            "10 of 14 messages in context · 4 over the window",
            id="cut by the window",
        ),
        pytest.param(
            partial(status_of, CHAT, CHAT[3:]),
            "11 of 14 messages in context · 3 over the window",
            id="not even looked at, for want of room",
        ),
        pytest.param(
            partial(status_of, COMPACTED, COMPACTED[8:]),
            "7 of 15 messages in context · 8 summed up",
            id="a summary",
        ),
        pytest.param(
            partial(status_of, CLEARED, CLEARED[8:]),
            "7 of 15 messages in context · 8 before the clearing",
            id="a clearing",
        ),
        pytest.param(
            partial(status_of, BOTH, BOTH[9:], {CHAT[8].id: ReasonKind.OVER_BUDGET}),
            "6 of 16 messages in context · 5 summed up · 4 before the clearing · 1 over the window",
            id="all of it, in this order",
        ),
        pytest.param(
            partial(status_of, FAILED, FAILED[:-1]),
            "13 of 14 messages in context",
            id="a failed answer",
        ),
        pytest.param(
            partial(status_of, COMPACTED, [COMPACTED[1], *COMPACTED[8:]]),
            "8 of 15 messages in context · 7 summed up",
            id="a pinned message from before the summary",
        ),
        pytest.param(
            partial(status_of, CHAT, [*CHAT, *ADDED]),
            "All messages in context",
            id="a message that a plugin added is none of the chat's",
        ),
        pytest.param(
            partial(status_of, CHAT, [*CHAT[3:], *ADDED], active=["X"], fell_back=True),
            "No message matches; 11 of 14 messages in context · 3 over the window",
            id="a fallback with an added message",
        ),
        pytest.param(
            partial(status_of, CHAT, CHAT, more=2_000),
            "All messages in context · 500 of 2,500 topics",
            id="more topics than count",
        ),
    ],
)
def test_the_status_line_counts_what_is_sent_and_says_what_keeps_the_rest_out(of, expected):
    assert of().line == expected


@given(st.sets(st.integers(0, 13)), st.integers(0, 13))
def test_all_messages_is_never_said_while_fewer_are_sent(out, first):
    candidates = CHAT[first:]
    left_out = {CHAT[n].id: ReasonKind.TAKEN_OUT for n in out if n >= first}

    said_line = status_of(CHAT, candidates, left_out).line

    is_whole = first == 0 and not left_out
    assert (said_line == "All messages in context") is is_whole


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        pytest.param(partial(status_of, CHAT, CHAT), "All", id="no filter"),
        pytest.param(partial(status_of, CHAT, CHAT[9:]), "5 of 14", id="fewer"),
        pytest.param(partial(status_of, CHAT, CHAT, fell_back=True), "No match", id="a fallback"),
    ],
)
def test_narrow_places_get_the_numbers_alone(of, expected):
    assert of().short == expected
