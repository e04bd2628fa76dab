"""Why messages of a chat are not even candidates of the filter."""

from dataclasses import replace

import pytest

from smart_context.chat.compaction import summary_message
from smart_context.chat.messages import Message
from smart_context.plugin.selection.absences import absences
from smart_context.relevance.reasons import ReasonKind

CHAT = tuple(Message(id=f"m{n}", role="user", content="Hi") for n in range(6))


def summary(boundary, kind="compacted", created_at="2026-05-03T10:00:00Z"):
    return summary_message(
        f"s-{boundary}", "…", boundary=boundary, created_at=created_at, kind=kind
    )


def kinds(messages, candidates):
    return {i: absence.reason.kind for i, absence in absences(messages, candidates).items()}


def test_no_message_is_absent_when_all_are_candidates():
    assert absences(CHAT, CHAT) == {}
    assert absences(CHAT, CHAT[::-1]) == {}


def test_a_failed_message_says_so_even_before_a_summary():
    failed = replace(CHAT[0], error="no answer")
    coded = replace(CHAT[1], error_code=500)
    chat = (failed, coded, CHAT[2], summary("m2"), *CHAT[3:])
    found = kinds(chat, chat[3:])
    assert found == {
        "m0": ReasonKind.FAILED,
        "m1": ReasonKind.FAILED,
        "m2": ReasonKind.SUMMARISED,
    }


def test_what_a_summary_covers_is_told_from_what_does_not_fit():
    chat = (*CHAT[:3], newest := summary("m2"), *CHAT[3:])
    assert kinds(chat, (newest, CHAT[5])) == {
        "m0": ReasonKind.SUMMARISED,
        "m1": ReasonKind.SUMMARISED,
        "m2": ReasonKind.SUMMARISED,
        "m3": ReasonKind.OVER_BUDGET,
        "m4": ReasonKind.OVER_BUDGET,
    }


def test_the_result_of_an_old_tool_call_is_told_from_what_does_not_fit():
    result = replace(CHAT[1], role="tool", extra={"tool_call_id": "c1"})
    cut = replace(CHAT[2], role="tool", extra={"tool_call_id": "c2", "cut": True})
    assert kinds((CHAT[0], result, cut), CHAT[:1]) == {
        "m1": ReasonKind.OLD_TOOL,
        "m2": ReasonKind.OVER_BUDGET,
    }


def test_a_summary_that_a_later_one_replaces_is_summarised_itself():
    older, newer = summary("m1"), summary("m3")
    chat = (*CHAT[:2], older, *CHAT[2:4], newer, *CHAT[4:])
    assert kinds(chat, chat[5:])[older.id] is ReasonKind.SUMMARISED


@pytest.mark.parametrize(
    ("created_at", "words"),
    [
        pytest.param("2026-05-03T10:00:00Z", "out: before the summary of 3 May", id="a date"),
        pytest.param("last week", "out: behind a summary", id="not a date"),
    ],
)
def test_the_reason_names_the_day_of_the_summary(created_at, words):
    newest = summary("m2", created_at=created_at)
    chat = (*CHAT[:3], newest, *CHAT[3:])
    assert str(absences(chat, chat[3:])["m0"].reason) == words


def test_without_its_summary_a_message_is_before_a_summary():
    chat = (*CHAT[:3], summary("m2"), *CHAT[3:])
    assert str(absences(chat, CHAT[3:])["m0"].reason) == "out: behind a summary"


def test_a_summary_of_messages_that_are_gone_covers_nothing():
    chat = (*CHAT, summary("gone"))
    assert kinds(chat, chat[3:]) == dict.fromkeys(("m0", "m1", "m2"), ReasonKind.OVER_BUDGET)


def test_what_was_cleared_is_marked():
    cleared = summary("m1", "cleared")
    compacted = summary("m3")
    chat = (*CHAT[:2], cleared, *CHAT[2:4], compacted, *CHAT[4:])
    found = absences(chat, chat[5:])
    assert [i for i, absence in found.items() if absence.is_cleared] == ["m0", "m1"]
    assert found["m0"].reason == found["m2"].reason


def test_a_failed_summary_covers_nothing():
    failed = replace(summary("m2"), error="no answer")
    chat = (*CHAT[:3], failed, *CHAT[3:])
    assert kinds(chat, CHAT[3:])["m0"] is ReasonKind.OVER_BUDGET
