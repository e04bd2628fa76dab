"""Where summaries stand in a chat, and what fits into a window."""

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.chat.compaction import (
    boundary_of,
    compaction_points,
    insert_after,
    newest_summary,
    sent_text,
    since,
    summary_message,
    within_budget,
    without_summary,
)
from smart_context.chat.history import ContextBuilderOptions, build_context
from smart_context.chat.messages import Message, MessageId, messages_of

pytestmark = pytest.mark.anyio


class NoFiles:
    async def read(self, _key):
        return None


def said(name, role="user", text="text", **more):
    return Message(id=MessageId(name), role=role, content=text, **more)


def summary(name, boundary):
    return summary_message(
        MessageId(name), "In short.", boundary=boundary, created_at="", kind="compacted"
    )


def ids(messages):
    return [message.id for message in messages]


async def history(*messages):
    points = compaction_points(messages)
    options = ContextBuilderOptions(attachment_resolver=NoFiles(), compaction_points=points)
    return ids(await build_context(messages, options))


@pytest.mark.parametrize(
    ("messages", "sent"),
    [
        pytest.param([said("a"), summary("s", "a"), said("b")], ["s", "b"], id="one"),
        pytest.param(
            [said("a"), summary("s", "a"), said("b"), summary("t", "b"), said("c")],
            ["t", "c"],
            id="the newer one counts",
        ),
        pytest.param(
            [said("a"), summary("s", "a"), said("b"), summary("t", "gone"), said("c")],
            ["s", "b", "c"],
            id="one whose boundary is gone does not",
        ),
        pytest.param(
            [said("a"), summary("s", "gone"), said("b")], ["a", "b"], id="then all is sent"
        ),
        pytest.param(
            [said("i", "system"), said("a"), summary("s", "a"), said("b")],
            ["i", "s", "b"],
            id="a leading instruction stays",
        ),
        pytest.param(
            [said("a"), said("s", "system", is_summary=True), said("b")],
            ["a", "b"],
            id="a summary that says nothing of a boundary",
        ),
    ],
)
async def test_what_a_summary_stands_for_is_not_sent(messages, sent):
    assert await history(*messages) == sent
    found = newest_summary(messages)
    assert (found.id if found else None) == (sent[-2] if sent[-2][0] in "st" else None) or (
        found.id in sent
    )


def test_a_summary_survives_the_file():
    stored = summary("s", "a").to_dict()
    assert compaction_points([said("a"), Message.from_dict(stored)])[0].boundary_message_id == "a"


def test_a_summary_is_a_system_message_that_names_its_boundary():
    assert summary("s", "a").to_dict() == {
        "id": "s",
        "role": "system",
        "content": "In short.",
        "is_summary": True,
        "compaction": {"boundary_message_id": "a", "kind": "compacted"},
    }


@pytest.mark.parametrize("about", [None, "a", {}, {"boundary_message_id": 5}])
def test_a_summary_may_name_no_boundary(about):
    message = said("s", "system", is_summary=True, extra={"compaction": about})
    assert boundary_of(message) == ""
    assert compaction_points([said("a"), message]) == []


@pytest.mark.parametrize("failure", [{"error": "no answer"}, {"error_code": 500}])
def test_a_failed_summary_is_not_in_force(failure):
    failed = replace(summary("t", "b"), **failure)
    messages = [said("a"), older := summary("s", "a"), said("b"), failed]
    assert newest_summary(messages) is older
    assert newest_summary(messages[2:]) is None


def test_a_document_without_a_list_of_messages_has_no_summary():
    assert not without_summary({"messages": "odd"}, MessageId("s"))


def test_a_summary_finds_its_boundary_among_entries_that_are_no_messages():
    document = {"messages": [said("a").to_dict(), None, said("b").to_dict(), "odd"]}
    assert insert_after(document, MessageId("a"), summary("s", "a"))
    assert [e["id"] if isinstance(e, dict) else e for e in document["messages"]] == [
        *("a", "s", None, "b", "odd")
    ]


def test_a_summary_stands_right_behind_its_boundary_and_can_go_again():
    document = {"messages": [said(name).to_dict() for name in "abc"]}
    assert insert_after(document, MessageId("b"), summary("s", "b"))
    assert [entry["id"] for entry in document["messages"]] == ["a", "b", "s", "c"]
    assert without_summary(document, MessageId("s"))
    assert [entry["id"] for entry in document["messages"]] == ["a", "b", "c"]
    assert not without_summary(document, MessageId("s"))
    assert not insert_after(document, MessageId("gone"), summary("s", "gone"))


def test_what_was_said_since_leaves_out_what_is_not_whole():
    messages = [
        said("a"),
        summary("s", "a"),
        said("b"),
        said("x", error="cut off"),
        said("y", generating=True),
    ]
    assert ids(since(messages, messages[1])) == ["b"]
    assert ids(since(messages, None)) == ["a", "b"]


def test_arguments_and_results_of_tools_cost_too():
    part = {"type": "tool_call", "tool_name": "read", "args": {"path": "a"}, "result": "long"}
    message = Message(
        id=MessageId("m"), role="assistant", content=({"type": "text", "text": "Hm"}, part)
    )
    assert sent_text(message) == 'Hm\nread\n{"path": "a"}\nlong'
    odd = {"type": "tool_call", "args": {"über": date(2026, 3, 1)}, "result": None}
    assert sent_text(replace(message, content=(odd,))) == '\n{"über": "2026-03-01"}'


def one(_message):
    return 1


@pytest.mark.parametrize(
    ("roles", "room", "keep", "left"),
    [
        pytest.param("uaua", 4, "", "0123", id="all fit"),
        pytest.param("uaua", 2, "", "23", id="the oldest go"),
        pytest.param("uaua", 2, "0", "03", id="what is kept stays"),
        pytest.param("suau", 2, "", "03", id="a leading instruction stays"),
        pytest.param("usau", 2, "", "23", id="a later one does not"),
        pytest.param("uattu", 3, "", "04", id="results go with their call"),
        pytest.param("uuattu", 3, "", "015", id="what fills most of the room is passed over"),
        pytest.param("uaua", 3, "", "123", id="else what does not fit ends it"),
        pytest.param("uat", 3, "2", "012", id="the call of a kept result stays"),
        pytest.param("uattu", 3, "1", "123", id="the results of a kept call stay"),
        pytest.param("uatu", 2, "1", "12", id="the one result of a kept call stays"),
        pytest.param("ttu", 2, "", "2", id="results without a call stay or go together"),
        pytest.param("uau", 0, "", "", id="no room at all"),
        pytest.param("Sua", 1, "", "0", id="a summary stays"),
    ],
)
def test_the_oldest_messages_go_first(roles, room, keep, left):
    names = {"u": "user", "a": "assistant", "s": "system", "t": "tool", "S": "system"}
    messages = [said(str(at), names[role], is_summary=role == "S") for at, role in enumerate(roles)]
    assert "".join(ids(within_budget(messages, room, one, keep=set(keep)))) == left


@pytest.mark.parametrize(
    ("sizes", "left"),
    [
        pytest.param((1, 2, 3), [2], id="half of the room ends the history"),
        pytest.param((1, 3, 3), [0, 2], id="more than half is skipped"),
    ],
)
def test_what_takes_more_than_half_of_the_room_is_skipped(sizes, left):
    messages = [said(str(at), text="x" * size) for at, size in enumerate(sizes)]
    kept = within_budget(messages, 4, lambda message: len(message.text))
    assert kept == [messages[at] for at in left]


@given(st.lists(st.tuples(st.sampled_from("uat"), st.integers(0, 50))), st.integers(0, 300))
def test_the_room_is_never_exceeded_and_the_order_stays(entries, room):
    names = {"u": "user", "a": "assistant", "t": "tool"}
    messages = [said(str(n), names[r], "x" * size) for n, (r, size) in enumerate(entries)]
    kept = within_budget(messages, room, lambda message: len(message.text))
    assert sum(len(message.text) for message in kept) <= room
    assert kept == [message for message in messages if message in kept]


def test_messages_without_ids_keep_those_that_they_had():
    document = {"messages": [{"role": "user", "content": text} for text in ("a", "b", "c")]}
    before = [message.id for message in messages_of(document)]
    assert insert_after(document, before[1], summary("s", before[1]))
    assert [m.id for m in messages_of(document)] == [*before[:2], "s", before[2]]
    assert not insert_after({}, MessageId("a"), summary("s", "a"))
