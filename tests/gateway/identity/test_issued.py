"""Which chat a request goes on with, told by the answers that it holds."""

import asyncio

import pytest

from smart_context.gateway.identity.issued import (
    ChatOpening,
    IssuedAnswers,
    answer_of,
    digest,
    program_of,
)
from smart_context.gateway.requests.units import chat_units
from tests.gateway.saying import assistant, system, user

LONG = "The keeper lit the lamp at dusk and kept it burning until dawn."
OTHER = "A garden needs water, sun and patience, in about that order of need."


class Chats:
    """Chats with what they got, as the store would give it."""

    def __init__(self):
        self.issued = IssuedAnswers()
        self.texts = {}

    def talk(self, chat, *turns):
        for number, (question, answer) in enumerate(turns):
            self.texts[chat, f"q{number}"] = question
            self.texts[chat, f"a{number}"] = answer
            self.issued.note(
                answer_of(answer, chat=chat, message=f"a{number}", question=f"q{number}")
            )
        return self

    async def text_of(self, chat, message):
        return self.texts.get((chat, message), "")

    def find(self, *messages):
        return asyncio.run(self.issued.chat_of(list(chat_units(messages)), self.text_of))


@pytest.mark.parametrize(
    ("messages", "chat"),
    [
        pytest.param([user("x"), assistant(LONG), user("y")], "one", id="a long answer"),
        pytest.param([user("x"), assistant(f" {LONG}\n"), user("y")], "one", id="white space"),
        pytest.param([user("x"), assistant(LONG[:50]), user("y")], "one", id="a shortened one"),
        pytest.param([user("x"), assistant("Yes."), user("y")], None, id="a short one alone"),
        pytest.param([user("Is it?"), assistant("Yes.")], "one", id="a short one and its question"),
        pytest.param([user("Is it? No"), assistant("Yes.")], "one", id="the question goes on"),
        pytest.param([assistant("Yes."), user("?"), assistant("No.")], "one", id="two in a row"),
        pytest.param([assistant("No."), user("?"), assistant("Yes.")], None, id="in wrong order"),
        pytest.param([user("x"), assistant(OTHER), user("y")], None, id="an answer of nobody"),
        pytest.param([user(LONG)], None, id="the user quotes an answer"),
    ],
)
def test_answers_tell_the_chat(messages, chat):
    chats = Chats().talk("one", ("Tell me", LONG), ("Is it?", "Yes."), ("Sure?", "No."))
    assert chats.find(*messages) == chat


@pytest.mark.parametrize(
    ("messages", "chat"),
    [
        pytest.param([assistant("Yes.")], None, id="one of two that are equal"),
        pytest.param([assistant("Yes."), user("?"), assistant("Yes.")], "one", id="both"),
        pytest.param(
            [assistant("Yes."), user("?"), assistant("Red.")], "one", id="the second, the next"
        ),
        pytest.param(
            [assistant("Red."), user("?"), assistant("?"), user("?"), assistant("Blue.")],
            None,
            id="another answer in between",
        ),
        pytest.param(
            [assistant("Yes."), user("?"), assistant("Blue.")], None, id="no neighbours in the chat"
        ),
    ],
)
def test_short_answers_are_a_row_if_they_are_neighbours_in_request_and_chat(messages, chat):
    turns = (("a", "Yes."), ("b", "Yes."), ("c", "Red."), ("d", "Blue."))
    assert Chats().talk("one", *turns).find(user("x"), *messages) == chat


def called(call_id, text=""):
    call = {"id": call_id, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return {"role": "assistant", "content": text, "tool_calls": [call]}


def test_a_short_text_beside_a_foreign_call_is_as_uncertain_as_alone():
    chats = Chats().talk("one", ("Is it?", "Yes."))
    assert chats.find(user("x"), called("call_of_another", "Yes.")) is None
    assert chats.find(user("Is it?"), called("call_of_another", "Yes.")) == "one"


@pytest.mark.parametrize("answer", ["Red.", "Green.", "Blue.", "Red, again."])
def test_choices_and_versions_of_an_answer_share_its_place(answer):
    chats = Chats()
    for question, text in (
        *(("q0", choice) for choice in ("Red.", "Green.", "Blue.")),
        *(("q1", "Yes."), ("q0", "Red, again."), ("q2", "No.")),
    ):
        chats.issued.note(answer_of(text, chat="one", message=text, question=question))
    assert chats.find(user("x"), assistant(answer), user("y"), assistant("Yes.")) == "one"
    assert chats.find(user("x"), assistant(answer), user("y"), assistant("No.")) is None


def test_two_choices_of_one_question_are_no_row():
    chats = Chats()
    for choice in ("Red.", "Green."):
        chats.issued.note(answer_of(choice, chat="one", message=choice, question="q0"))
    assert chats.find(user("x"), assistant("Red."), user("y"), assistant("Green.")) is None


def test_an_answer_that_a_chat_got_more_than_once_counts_once():
    often = (("Tell me", LONG), ("Again", LONG), ("Once more", LONG))
    chats = Chats().talk("often", *often).talk("both", ("Tell me", LONG), ("r", OTHER))
    assert chats.find(user("q"), assistant(LONG), user("r"), assistant(OTHER)) == "both"


def test_a_beginning_that_two_answers_share_is_not_enough():
    chats = Chats().talk("one", ("q", f"{LONG} And then he slept."))
    assert chats.find(user("q"), assistant(f"{LONG} But she did not."), user("r")) is None


def test_a_tool_call_tells_the_chat_by_its_id():
    issued = IssuedAnswers()
    issued.note(answer_of("", chat="one", message="a", calls=("call_1",)))
    units = list(chat_units([user("q"), called("call_1")]))
    assert asyncio.run(issued.chat_of(units, Chats().text_of)) == "one"


def test_the_chat_with_more_of_the_answers_is_the_one():
    chats = Chats().talk("one", ("q", LONG), ("r", OTHER)).talk("two", ("q", LONG))
    assert chats.find(user("q"), assistant(LONG), user("r"), assistant(OTHER)) == "one"
    assert chats.find(user("q"), assistant(LONG), user("s")) == "two"


def test_an_answer_far_back_tells_the_chat():
    chats = Chats().talk("one", ("q", LONG))
    later = [message for n in range(60) for message in (user("u"), assistant(f"elsewhere {n}"))]
    assert chats.find(user("q"), assistant(LONG), *later, user("r")) == "one"


def retried(*messages, program="p", seen=False, after_s=60.0):
    issued = IssuedAnswers()
    issued.note(ChatOpening(chat="one", first=digest("Hello there"), program="p", at=1000.0))
    if seen:
        issued.see("one")
    return issued.retried(list(chat_units(messages)), program, 1000.0 + after_s)


@pytest.mark.parametrize(
    ("found", "chat"),
    [
        (retried(user("Hello there")), "one"),
        (retried(system("s"), user("Hello  there")), "one"),
        (retried(user("Hello")), None),
        (retried(user("Hello there"), assistant("x"), user("y")), None),
        (retried(user("Hello there"), seen=True), None),
        (retried(user("Hello there"), after_s=601), None),
        (retried(user("Hello there"), program="another"), None),
    ],
)
def test_a_first_message_is_a_retry_only_while_its_answer_was_not_seen(found, chat):
    assert found == chat


def test_only_the_newest_chat_of_a_key_can_be_tried_again():
    issued = IssuedAnswers()
    for chat, first in (("old", "Hello"), ("new", "Something else")):
        issued.note(ChatOpening(chat=chat, first=digest(first), program="p", at=1000.0))
    found = [
        issued.retried(list(chat_units([user(text)])), "p", 1001.0)
        for text in ("Hello", "Something else")
    ]
    assert found == [None, "new"]


def test_programs_that_open_alike_are_told_apart():
    units = [list(chat_units([system(text), user("hi")])) for text in ("You are A", "You are B")]
    assert program_of("x", units[0], None) != program_of("x", units[1], None)
    assert program_of("x", units[0], None) != program_of("y", units[0], None)
