"""What turns write into a chat document."""

import pytest

from smart_context.base.errors import CommandFailed
from smart_context.chat.messages import Arrived, Message, messages_of
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
    transcript.restore_partial_answer(document, interrupted("recovered"))
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
    transcript.restore_partial_answer(document, interrupted(text, steps))
    assert document["messages"][0]["content"] == content
    assert document["messages"][0]["error"] == transcript.INTERRUPTED


def test_the_question_of_a_message_is_the_nearest_before_it():
    document = {"messages": [user("a", id="1"), user("b", id="2"), answer("c"), answer("d")]}
    last = messages_of(document)[3]
    assert transcript.question_of(document, last.id).id == "2"
    assert transcript.question_of(document, "1").id == "1"


def ask_again(document, message_id, **more):
    return transcript.ask_again(document, message_id, now="t", **more)


def left(document):
    return [
        (branch["after"], [entry["content"] for entry in branch["messages"]])
        for branch in document.get("branches", [])
    ]


def test_what_followed_a_question_that_is_asked_again_stays_as_a_version():
    document = {"messages": [user("q", id="q"), answer("a"), user("r"), answer("b")]}
    assert ask_again(document, messages_of(document)[1].id).id == "q"
    assert texts(document) == ["q"]
    assert left(document) == [("q", ["a", "r", "b"])]


def test_no_version_is_ever_dropped():
    document = {"messages": [user("q", id="q"), answer("0")]}
    for number in range(30):
        ask_again(document, "q")
        document["messages"].append(answer(str(number + 1)))
    assert texts(document) == ["q", "30"]
    assert left(document) == [("q", [str(number)]) for number in reversed(range(30))]


def test_a_question_that_nothing_follows_leaves_no_trace():
    document = {"messages": [user("q", id="q")]}
    ask_again(document, "q")
    assert document == {"messages": [user("q", id="q")]}


def test_another_text_makes_another_question_with_the_same_files():
    asked = user("q", id="q", files=[{"id": "f"}], mine=2, created_at="before")
    document = {"messages": [user("p", id="p"), asked, answer("a")]}
    question = ask_again(document, "q", text="better")
    assert (question.text, question.created_at) == ("better", "t")
    assert question.id != "q"
    assert (question.files, question.extra) == (({"id": "f"},), {"mine": 2})
    assert texts(document) == ["p", "better"]
    assert left(document) == [("p", ["q", "a"])]
    assert document["branches"][0]["messages"][0] == asked


def test_the_same_text_is_the_same_question():
    document = {"messages": [user("q", id="q"), answer("a")]}
    assert ask_again(document, "q", text="q").id == "q"
    assert left(document) == [("q", ["a"])]


def test_an_answer_that_was_left_meanwhile_is_completed_where_it_is():
    document = {"messages": [user("q", id="q"), answer("", id="a", generating=True)]}
    ask_again(document, "q")
    transcript.put(document, Message(id="a", role="assistant", content="whole"))
    assert left(document) == [("q", ["whole"])]
    assert texts(document) == ["q"]


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
        lambda document: ask_again(document, "9"),
        lambda document: transcript.question_of(document, "9"),
    ],
)
def test_a_message_that_is_not_there_is_named(change):
    with pytest.raises(CommandFailed, match="no message '9'"):
        change({"messages": [user("a", id="1")]})


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
    ask_again(document, second)
    assert document["messages"] == ["odd", user("a", id=first)]
    left_as = [None, answer("B", id=second), 5]
    assert document["branches"][0]["messages"][:3] == left_as
