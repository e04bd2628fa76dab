"""The list of chats by date."""

from datetime import UTC, datetime

import pytest

from smart_context.chat.listed.rows import ChatRow
from smart_context.chat.listed.search import ChatHit
from smart_context.topics.identity import colours_of
from smart_context.web.pages.views.chat_groups import chat_groups, hits_view

NOW = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)


def row(name="c", at="2026-11-22T08:00:00Z", title="Bread", preview="Bake it.", **others):
    return ChatRow(id=name, title=title, message_count=2, updated_at=at, preview=preview, **others)


@pytest.mark.parametrize(
    ("at", "name"),
    [
        pytest.param("2026-11-23T01:00:00Z", "Today", id="a clock that is ahead"),
        pytest.param("2026-11-22T00:00:00Z", "Today", id="midnight"),
        pytest.param("2026-11-21T23:59:59Z", "Yesterday", id="yesterday"),
        pytest.param("2026-11-15T10:00:00Z", "Previous 7 days", id="a week ago"),
        pytest.param("2026-10-23T10:00:00Z", "Previous 30 days", id="thirty days ago"),
        pytest.param("2026-03-01T10:00:00Z", "March", id="this year"),
        pytest.param("2025-03-01T10:00:00Z", "March 2025", id="another year"),
        pytest.param("long ago", "Undated", id="no date"),
    ],
)
def test_a_chat_is_below_its_time(at, name):
    assert [group.name for group in chat_groups([row(at=at)], NOW)] == [name]


@pytest.mark.parametrize(
    ("at", "when"),
    [
        pytest.param("2026-11-22T08:05:00Z", "8:05 AM", id="today"),
        pytest.param("2026-11-22T00:30:00Z", "12:30 AM", id="after midnight"),
        pytest.param("2026-11-21T23:59:59Z", "Nov 21", id="yesterday"),
        pytest.param("2026-03-01T10:00:00Z", "Mar 1", id="this year"),
        pytest.param("long ago", "?", id="no date"),
    ],
)
def test_a_chat_says_when_it_was_last_written_in(at, when):
    (group,) = chat_groups([row(at=at)], NOW)
    assert [line.when for line in group.lines] == [when]


def test_chats_of_one_time_are_in_one_group_in_their_order():
    old = "2026-11-21T08:00:00Z"
    groups = chat_groups([row("a"), row("b"), row("c", at=old)], NOW)
    assert [[line.row.id for line in group.lines] for group in groups] == [["a", "b"], ["c"]]


def test_pinned_chats_come_first_then_folders_by_name_and_what_is_archived_last():
    old = "2026-11-21T08:00:00Z"
    rows = [
        row("a"),
        row("b", folder="work"),
        row("c", folder="Home"),
        row("d", pinned=True, folder="Home"),
        row("e", archived=True, pinned=True),
        row("f", at=old),
        row("g", at=old, folder="Home"),
    ]
    found = [
        (group.kind, group.name, "".join(line.row.id for line in group.lines), group.folds)
        for group in chat_groups(rows, NOW)
    ]
    assert found == [
        ("pinned", "Pinned", "d", False),
        ("folder", "Home", "cg", True),
        ("folder", "work", "b", True),
        ("time", "Today", "a", False),
        ("time", "Yesterday", "f", False),
        ("archived", "Archived", "e", True),
    ]


def test_chats_that_look_the_same_are_told_apart():
    rows = [row("aaaaaaaa"), row("bbbbbbbb"), row("c", preview="Another end.")]
    (group,) = chat_groups(rows, NOW)
    twins = [line.twin for line in group.lines]
    assert twins[0] != twins[1]
    assert all(twins[:2])
    assert not twins[2]


def test_a_chat_has_the_colours_of_its_topics():
    (group,) = chat_groups([row(topics=("t1", "t2", "t1"))], NOW)
    assert group.lines[0].hues == tuple(colours_of([("t1", ""), ("t2", "")]).values())


@pytest.mark.parametrize(("topics", "dots", "more"), [(5, 5, 0), (6, 6, 0), (7, 5, 2)])
def test_a_chat_has_a_dot_for_each_topic_or_says_how_many_more_there_are(topics, dots, more):
    (group,) = chat_groups([row(topics=tuple(f"t{n}" for n in range(topics)))], NOW)
    (line,) = group.lines
    assert (len(line.hues), line.more_topics) == (dots, more)


def hit(chat, message="", text="Bread"):
    return ChatHit(chat_id=chat, title="Bread", message_id=message, snippet=text)


def test_found_chats_of_one_title_are_told_apart_though_their_last_words_are_not_shown():
    rows = [row("a"), row("b", preview="Or not."), row("c", at="2026-11-21T08:00:00Z"), row("d")]
    found = hits_view([hit("a", "m1"), hit("b", "m1"), hit("c", "m1")], "bread", rows, NOW)["found"]
    told = [(chat.line.when, chat.line.twin) for chat in found]
    assert len(set(told)) == 3
    assert told[2] == ("Nov 21", "")


def test_a_title_that_was_found_is_marked_and_counts_as_no_message():
    shown = hits_view([hit("a"), hit("a", "m1", "Which bread?")], "bread", [], NOW)
    (found,) = shown["found"]
    assert found.title == [("Bread", True)]
    assert found.hits == [("m1", [("Which ", False), ("bread", True), ("?", False)])]
    assert (shown["count"], found.is_named, found.line) == (1, True, None)
    (other,) = hits_view([hit("a", "m1", "Which bread?")], "which", [], NOW)["found"]
    assert (other.title, other.is_named) == ([("Bread", False)], False)
