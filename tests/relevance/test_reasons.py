"""Why a message is in or out, in words for people."""

import re

import numpy as np
import pytest

from smart_context.relevance.reasons import (
    IS_IN,
    KINDS,
    OUT,
    RULES,
    Reason,
    ReasonKind,
    Reasons,
)
from smart_context.relevance.score import Scores

MEASURED = {"score": 0.474, "topic": "Bread", "threshold": 0.4, "recent": 2}


def test_every_rule_names_a_topic_or_has_words_of_its_own():
    assert [*RULES] == [*ReasonKind]
    for kind, rule in RULES.items():
        assert bool(rule.about) != bool(rule.short), kind
        assert rule.cause != rule.short or not rule.short, kind
        assert "{}" in rule.about or not rule.about, kind


@pytest.mark.parametrize(
    ("kind", "words", "short"),
    [
        ("no_filter", "in: no filter is active", "Sent – no filter"),
        ("fallback", "in: no message matches, so all stay", "Sent – no message matches"),
        ("pinned", "in: pinned by you", "Sent – pinned"),
        ("sticky", "in: your instruction", "Sent – your instruction"),
        ("topic", "in: about Bread", "Sent – about Bread"),
        ("member", "in: belongs to Bread", "Sent – belongs to Bread"),
        ("said", "in: said while Bread was picked", "Sent – said while Bread was picked"),
        ("assigned", "in: about Bread, as you chose", "Sent – about Bread, as you chose"),
        (
            "apart",
            "out: not part of Bread, as you chose",
            "Not sent – not part of Bread, as you chose",
        ),
        ("recent", "in: one of the 2 newest", "Sent – newest"),
        ("tool", "in: belongs to a tool call that stays", "Sent – part of a tool call"),
        ("question", "in: question of an answer that stays", "Sent – question of a sent answer"),
        ("below", "out: not close enough to Bread", "Not sent – not close enough to Bread"),
        ("unplaced", "out: in no topic", "Not sent – in no topic"),
        ("hidden", "out: hidden by you", "Not sent – hidden"),
        (
            "hidden_tool",
            "out: belongs to a tool call that is hidden by you",
            "Not sent – part of a hidden tool call",
        ),
        ("added", "in: added by a plugin", "Sent – added by a plugin"),
        ("taken_out", "out: taken out by a plugin", "Not sent – taken out by a plugin"),
        (
            "old_tool",
            "out: part of a tool call that is no longer sent",
            "Not sent – part of an old tool call",
        ),
        ("empty", "out: it has nothing to send", "Not sent – nothing to send"),
        ("failed", "out: this answer failed", "Not sent – failed answer"),
        ("summarised", "out: behind a summary", "Not sent – behind a summary"),
        ("over_budget", "out: over budget", "Not sent – over the window"),
    ],
)
def test_each_reason_has_its_words(kind, words, short):
    reason = Reason(kind=ReasonKind(kind), **MEASURED)
    assert (str(reason), reason.short) == (words, short)


def test_every_kind_has_words():
    for kind in ReasonKind:
        reason = Reason(kind=kind, **MEASURED)
        assert str(reason).startswith("out: " if kind in OUT else "in: ")
        assert reason.is_in is bool(IS_IN[KINDS.index(kind)])


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (Reason(kind=ReasonKind.RECENT, recent=1), "in: the newest message"),
        (
            Reason(kind=ReasonKind.SUMMARISED, detail="3 May"),
            "out: before the summary of 3 May",
        ),
        (
            Reason(kind=ReasonKind.TOPIC, score=0.5, threshold=0.4),
            "in: about the topic",
        ),
        (
            Reason(kind=ReasonKind.BELOW, score=0.7, topic="Bread", detail="Travel"),
            "out: about Travel, which is not picked",
        ),
        (
            Reason(kind=ReasonKind.APART, topic="Bread", detail="Travel"),
            "out: about Travel, as you chose",
        ),
    ],
)
def test_a_reason_says_what_is_known(reason, words):
    assert str(reason) == words


def likely(kind, score, cut, topic="Bread"):
    return Reason(kind=ReasonKind(kind), score=score, topic=topic, threshold=0.4, cut=cut)


@pytest.mark.parametrize("kind", ReasonKind)
@pytest.mark.parametrize("cut", [None, 0.31])
def test_words_about_a_message_have_no_numbers(kind, cut):
    reason = likely(kind, 0.7, cut)
    assert not re.search(r"\d\.\d", f"{reason} {reason.short}")


@pytest.mark.parametrize(
    ("reason", "numbers"),
    [
        (likely("topic", 0.474, None), "similarity 0.47, threshold 0.40"),
        (likely("below", 0.2, None), "similarity 0.20, threshold 0.40"),
        (likely("topic", 0.474, 0.31), "probability 0.47, kept from 0.31"),
        (likely("below", 0.2, 0.31), "probability 0.20, kept from 0.31"),
        (likely("below", 0.3098, 0.3101), "probability 0.3098, kept from 0.3101"),
        (likely("below", 0.0042, 0.31), "probability 0.00, kept from 0.31"),
        (likely("topic", 0.05, 0.0031), "probability 0.05, kept from 0.0031"),
        (likely("member", 0.12, 0.31), ""),
        (likely("recent", 0.9, 0.31), ""),
        (likely("pinned", 0.9, None), ""),
    ],
)
def test_numbers_are_told_only_where_they_decided(reason, numbers):
    assert reason.numbers == numbers


def reasons(found):
    kinds = np.array([KINDS.index(ReasonKind.TOPIC), KINDS.index(ReasonKind.BELOW)], np.int8)
    return Reasons(ids=("a", "b"), kinds=kinds, found=found, threshold=0.4, recent=2)


def test_the_reasons_of_a_chat_are_those_of_its_messages_in_order():
    values = np.array([[0.5, 0.25], [0.75, 0.125]], dtype=np.float32)
    chat = reasons(Scores(labels=("Bread", "Travel"), values=values))
    assert (list(chat), len(chat), chat.is_in.tolist()) == (["a", "b"], 2, [True, False])
    assert chat["a"] == Reason(
        kind=ReasonKind.TOPIC, score=0.75, topic="Travel", threshold=0.4, recent=2
    )
    assert chat["b"] == chat.at(1)
    assert (chat["b"].score, chat["b"].topic) == (0.25, "Bread")
    with pytest.raises(KeyError):
        chat["c"]


def test_without_scores_a_reason_has_none():
    reason = reasons(None)["a"]
    assert (reason.score, reason.topic) == (None, "")
