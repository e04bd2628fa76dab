"""What turns write into a chat document."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.base.errors import CommandFailed
from smart_context.chat.answers.journal import Arrived
from smart_context.chat.messages import Message, messages_of
from smart_context.host.turns import transcript


def user(text, **more):
    return {"role": "user", "content": text, **more}


def answer(text, **more):
    return {"role": "assistant", "content": text, **more}


def texts(document):
    return [message.text for message in messages_of(document)]


def test_a_message_is_put_in_the_place_of_its_id_or_at_the_end():
    document = {"messages": ["odd", user("a", id="1"), answer("b", id="2")]}
    transcript.put(document, Message(id="1", role="user", content="A"))
    transcript.put(document, Message(id="3", role="user", content="C"))
    assert document["messages"][0] == "odd"
    assert texts(document) == ["A", "b", "C"]


def interrupted(text, steps=()):
    return Arrived("1", text, steps)


@pytest.mark.parametrize("document", [{}, {"messages": None}, {"messages": {}}])
def test_a_document_without_messages_gets_them(document):
    transcript.append(document, Message(id="1", role="user", content="A"))
    assert texts(document) == ["A"]


def test_unfinished_answers_are_ended_and_others_stay():
    document = {
        "messages": [
            answer("old", id="1", generating=True, error="known"),
            answer("now", id="2", generating=True),
            answer("done", id="3"),
            "odd",
        ]
    }
    transcript.end_unfinished(document)
    assert document["messages"] == [
        answer("old", id="1", error="known"),
        answer("now", id="2", error=transcript.INTERRUPTED),
        answer("done", id="3"),
        "odd",
    ]


@pytest.mark.parametrize(
    "entry",
    [answer("done", id="1"), answer("other", id="2", generating=True)],
)
def test_what_was_recovered_goes_only_into_its_unfinished_answer(entry):
    document = {"messages": [dict(entry)]}
    transcript.put_back(document, interrupted("recovered"))
    assert document["messages"] == [entry]


@pytest.mark.parametrize(
    ("text", "steps", "content"),
    [
        pytest.param("two", (), "two", id="text alone"),
        pytest.param("", (), "one", id="nothing that was not there"),
        pytest.param(
            "two",
            ({"type": "text"},),
            [{"type": "text"}, {"type": "text", "text": "two"}],
            id="steps and text",
        ),
        pytest.param("", ({"type": "text"},), [{"type": "text"}], id="steps alone"),
    ],
)
def test_what_was_recovered_stands_in_the_answer(text, steps, content):
    document = {"messages": [answer("one", id="1", generating=True)]}
    transcript.put_back(document, interrupted(text, steps))
    assert document["messages"][0]["content"] == content
    assert document["messages"][0]["error"] == transcript.INTERRUPTED


def test_the_question_of_a_message_is_the_nearest_before_it():
    document = {"messages": [user("a", id="1"), user("b", id="2"), answer("c"), answer("d")]}
    last = messages_of(document)[3]
    assert transcript.question_of(document, last.id).id == "2"
    assert transcript.question_of(document, "1").id == "1"


def test_removing_keeps_what_was_removed_but_not_without_end():
    document = {"messages": [user("q", id="q"), answer("0")], "removed": "odd"}
    for number in range(transcript.KEPT_REMOVALS + 5):
        transcript.remove_after(document, "q", removed_at=f"t{number}")
        document["messages"].append(answer(str(number + 1)))
    assert texts(document) == ["q", str(transcript.KEPT_REMOVALS + 5)]
    assert len(document["removed"]) == transcript.KEPT_REMOVALS
    assert document["removed"][-1]["removed_at"] == f"t{transcript.KEPT_REMOVALS + 4}"


def test_removing_nothing_leaves_no_trace():
    document = {"messages": [user("q", id="q")]}
    transcript.remove_after(document, "q", removed_at="t")
    assert document == {"messages": [user("q", id="q")]}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param("old", "new", id="text"),
        pytest.param(
            [
                {"type": "image", "k": 1},
                {"type": "text", "text": "a"},
                {"type": "text", "text": "b"},
            ],
            [{"type": "image", "k": 1}, {"type": "text", "text": "new"}],
            id="the first text is replaced and the others go",
        ),
        pytest.param(
            [{"type": "text", "text": "a"}, {"type": "tool_call", "state": "result"}],
            [{"type": "text", "text": "new"}, {"type": "tool_call", "state": "result"}],
            id="what comes after stays",
        ),
        pytest.param(
            [{"type": "image"}], [{"type": "image"}, {"type": "text", "text": "new"}], id="no text"
        ),
    ],
)
def test_changing_the_text_keeps_all_else(content, expected):
    document = {"messages": [user(content, id="1", mine=2)]}
    transcript.change_text(document, "1", "new")
    assert document["messages"] == [user(expected, id="1", mine=2)]


def test_a_message_without_an_id_keeps_the_one_it_was_known_by():
    document = {"messages": [user("a"), user("b")]}
    known = [message.id for message in messages_of(document)]
    transcript.change_text(document, known[1], "new")
    assert [message.id for message in messages_of(document)] == known
    assert texts(document) == ["a", "new"]


@pytest.mark.parametrize(
    "change",
    [
        lambda document: transcript.change_text(document, "9", "x"),
        lambda document: transcript.remove_after(document, "9", removed_at="t"),
        lambda document: transcript.question_of(document, "9"),
    ],
)
def test_a_message_that_is_not_there_is_named(change):
    with pytest.raises(CommandFailed, match="no message '9'"):
        change({"messages": [user("a", id="1")]})


documents = st.lists(st.sampled_from([user("q"), answer("a"), answer("b", generating=True)]))


@given(documents, st.data())
def test_no_message_is_lost_by_removing(entries, data):
    document = {"messages": [dict(entry, id=str(at)) for at, entry in enumerate(entries)]}
    if not entries:
        return
    at = data.draw(st.integers(0, len(entries) - 1))
    before = list(document["messages"])
    transcript.remove_after(document, str(at), removed_at="t")
    removed = [m for removal in document.get("removed", []) for m in removal["messages"]]
    assert document["messages"] + removed == before
    assert len(document["messages"]) == at + 1


def test_entries_that_are_no_messages_stay_where_they_are():
    document = {"messages": ["odd", user("a"), None, answer("b"), 5, user("c")]}
    first, second = [message.id for message in messages_of(document)][:2]
    transcript.change_text(document, second, "B")
    assert document["messages"] == [
        "odd",
        user("a", id=first),
        None,
        answer("B", id=second),
        5,
        document["messages"][5],
    ]
    transcript.remove_after(document, second, removed_at="now")
    assert texts(document) == ["a", "B"]
    assert document["messages"][::2] == ["odd", None]
    assert document["removed"][0]["messages"][0] == 5
