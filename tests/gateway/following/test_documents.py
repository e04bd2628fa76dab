"""What becomes of a chat when its client sends another list."""

import pytest

from smart_context.chat.documents.branches import versions_of
from smart_context.chat.messages import messages_of
from smart_context.gateway.following.documents import append_answer, put_answer
from smart_context.gateway.following.matching import keys_of, matched
from smart_context.gateway.requests.units import chat_units
from tests.gateway.saying import FollowedChat, assistant, system, user
from tests.growth.clock import MOST_GROWTH, growth

FILES = "*I have added these files to the chat* so you can go ahead and edit them.\n"
LONG = "An answer that is long enough to be known again by itself"


def talk(turns):
    """A chat of so many turns, and the list that its client holds then."""
    chat, messages = FollowedChat(), [system("s")]
    for number in range(turns):
        messages.append(user(f"q{number}"))
        chat.send(*messages, answer=f"a{number}")
        messages.append(assistant(f"a{number}"))
    return chat, messages


def test_what_is_appended_keeps_the_ids_before_it():
    chat, messages = talk(2)
    before = [m["id"] for m in chat.document["messages"]]
    ids = chat.send(*messages, user("q2"))
    assert ids[:-1] == before
    assert chat.texts == ["s", "q0", "a0", "q1", "a1", "q2"]
    assert not chat.branches


def test_an_edited_question_leaves_a_branch():
    chat, messages = talk(2)
    after = chat.document["messages"][2]["id"]
    chat.send(*messages[:3], user("another"), answer="b")
    assert chat.texts == ["s", "q0", "a0", "another", "b"]
    assert chat.branches == [(after, ["q1", "a1"])]


def test_a_shortened_list_leaves_a_branch():
    chat, messages = talk(3)
    chat.send(*messages[:3], user("q1"), answer="again")
    assert chat.texts == ["s", "q0", "a0", "q1", "again"]
    assert [texts for _, texts in chat.branches] == [["a1", "q2", "a2"]]


def test_the_same_request_again_makes_the_former_answer_a_version():
    chat, messages = talk(1)
    chat.send(*messages[:2], answer="better")
    assert chat.texts == ["s", "q0", "better"]
    assert [texts for _, texts in chat.branches] == [["a0"]]


def test_a_retry_of_the_library_makes_no_version():
    chat, messages = talk(1)
    chat.send(*messages[:2], answer="better", is_retry=True)
    assert chat.texts == ["s", "q0", "better"]
    assert not chat.branches


def test_an_answer_that_was_not_delivered_whole_makes_no_version():
    chat, messages = talk(0)
    chat.send(*messages, user("q"), answer="half", stopped=True)
    chat.send(*messages, user("q"), answer="", error="broken")
    chat.send(*messages, user("q"), answer="whole")
    assert chat.texts == ["s", "q", "whole"]
    assert not chat.branches


NOTICE = [{"type": "info", "text": "Stopped before an answer came."}]
NOTHING = [{"answer": "", "error": "refused"}, {"answer": NOTICE, "stopped": True}]


@pytest.mark.parametrize("nothing", NOTHING, ids=["an error", "a hang-up"])
@pytest.mark.parametrize("is_retry", [False, True])
def test_a_repeat_that_brings_nothing_leaves_the_delivered_answer_current(nothing, is_retry):
    chat, messages = talk(2)
    before = chat.document["messages"]
    for _ in range(2):
        chat.send(*messages[:4], is_retry=is_retry, **nothing)
        assert chat.document["messages"] == before
        assert not chat.branches


@pytest.mark.parametrize("nothing", NOTHING, ids=["an error", "a hang-up"])
def test_a_repeat_of_an_older_question_that_brings_nothing_changes_nothing(nothing):
    chat, messages = talk(3)
    before = chat.document["messages"]
    chat.send(*messages[:2], **nothing)
    assert chat.document["messages"] == before
    assert not chat.branches


def test_the_newest_of_the_delivered_answers_is_current_again():
    chat, messages = talk(1)
    chat.send(*messages[:2], answer="better")
    chat.send(*messages[:2], answer="", error="refused")
    assert chat.texts == ["s", "q0", "better"]
    assert [texts for _, texts in chat.branches] == [["a0"]]


def test_other_choices_of_a_repeat_are_kept_though_the_first_is_empty():
    chat, messages = talk(1)
    chat.send(*messages[:2])
    empty = {"id": "new", "role": "assistant", "content": ""}
    append_answer(chat.document, {**empty, "generating": True})
    put_answer(
        chat.document,
        empty,
        [{"id": "other", "role": "assistant", "content": "a choice"}],
        new_id=chat.new_id,
        now="",
    )
    assert chat.texts == ["s", "q0", ""]
    assert [texts for _, texts in chat.branches] == [["a choice"], ["a0"]]


def test_an_error_of_a_question_without_an_answer_stays():
    chat, messages = talk(1)
    chat.send(messages[0], user("another"), answer="", error="refused")
    assert chat.texts == ["s", "another", ""]
    assert [texts for _, texts in chat.branches] == [["q0", "a0"]]


def test_a_part_of_an_answer_is_kept_and_the_whole_one_before_it_too():
    chat, messages = talk(1)
    chat.send(*messages[:2], answer="half", stopped=True, is_retry=True)
    assert chat.texts == ["s", "q0", "half"]
    assert [texts for _, texts in chat.branches] == [["a0"]]


def test_going_back_to_a_branch_takes_its_messages_with_their_ids():
    chat, messages = talk(2)
    old = [m["id"] for m in chat.document["messages"]]
    chat.send(*messages[:3], user("another"), answer="b")
    assert chat.send(*messages, user("q2"))[:-1] == old
    assert [texts for _, texts in chat.branches] == [["another", "b"]]


def test_messages_that_are_cut_from_the_front_stay_and_are_marked():
    chat, messages = talk(3)
    before = {m["content"]: m["id"] for m in chat.document["messages"]}
    ids = chat.send(messages[0], *messages[5:], user("q3"))
    assert chat.texts == ["s", "q2", "a2", "q3"]
    assert chat.cut == ["q0", "a0", "q1", "a1"]
    assert [before[text] for text in ("s", "q2", "a2")] == ids[:-1]
    assert not chat.branches


def test_messages_that_are_sent_again_are_no_longer_cut():
    chat, messages = talk(3)
    chat.send(messages[0], *messages[5:], user("q3"), answer="a3")
    chat.send(*messages, user("q3"), assistant("a3"), user("q4"))
    assert chat.cut == []
    assert chat.texts == ["s", "q0", "a0", "q1", "a1", "q2", "a2", "q3", "a3", "q4"]


def test_files_that_move_and_change_leave_no_branch():
    chat = FollowedChat()
    chat.send(system("s"), user(f"{FILES}v1"), assistant("Ok."), user("q0"), answer=LONG)
    ids = {m["content"]: m["id"] for m in chat.document["messages"]}
    later = chat.send(
        system("s"), user("q0"), assistant(LONG), user(f"{FILES}v2"), assistant("Ok."), user("q1")
    )
    assert chat.texts == ["s", "q0", LONG, f"{FILES}v2", "Ok.", "q1"]
    assert not chat.branches
    assert not chat.cut
    assert later[:5] == [ids["s"], ids["q0"], ids[LONG], ids[f"{FILES}v1"], ids["Ok."]]


def test_an_answer_that_the_client_shortens_is_the_same_message():
    chat = FollowedChat()
    chat.send(user("q0"), answer=f"{LONG}\n\nSuffix.")
    answer = chat.document["messages"][1]["id"]
    ids = chat.send(user("q0"), assistant(LONG), user("q1"))
    assert ids[1] == answer
    assert not chat.branches


def test_a_system_message_with_the_time_of_day_is_the_same_message():
    chat = FollowedChat()
    first = chat.send(system("It is 12:00"), user("q0"), answer="a0")
    later = chat.send(system("It is 12:01"), user("q0"), assistant("a0"), user("q1"))
    assert first == later[:2]
    assert chat.texts[0] == "It is 12:01"
    assert not chat.branches


def test_there_are_at_most_twenty_branches_and_the_newest_comes_first():
    chat, messages = talk(1)
    for number in range(25):
        chat.send(*messages[:2], answer=f"version {number}")
    assert len(chat.branches) == 20
    assert chat.branches[0][1] == ["version 23"]


def test_what_a_client_does_not_take_up_again_of_a_version_stays_a_version():
    chat, messages = talk(3)
    chat.send(*messages[:1], user("other"), answer="o")
    chat.send(*messages[:3], user("new"), answer="n")
    assert chat.texts == ["s", "q0", "a0", "new", "n"]
    a0 = chat.document["messages"][2]["id"]
    assert (a0, ["q1", "a1", "q2", "a2"]) in chat.branches
    assert [versions.count for versions in versions_of(chat.document).values()] == [2, 2]


def test_a_message_is_no_branch_of_itself_when_a_summary_stands_in_the_chat():
    chat, messages = talk(2)
    summary = {"id": "sum", "role": "system", "content": "In short", "is_summary": True}
    chat.document["messages"].insert(3, summary)
    chat.send(*messages, user("q2"))
    assert not chat.branches
    assert chat.texts == ["s", "q0", "a0", "In short", "q1", "a1", "q2"]


def grown(count):
    """What a list of so many messages and a new one is matched with."""
    units = tuple(chat_units([user(f"message {number}") for number in range(count)]))
    stored = messages_of({"messages": [unit.stored(f"m{at}", "") for at, unit in enumerate(units)]})
    return (*units, *chat_units([user("new")], first=count)), stored, keys_of(stored)


def test_the_work_of_matching_grows_with_the_messages_and_no_faster():
    assert growth(lambda given: matched(*given), grown, longest=20_000) < MOST_GROWTH


def test_a_message_of_a_branch_without_an_id_gets_one_when_the_client_goes_back():
    chat, messages = talk(2)
    chat.send(*messages[:3], user("another"), answer="b")
    (branch,) = chat.document["branches"]
    for entry in branch["messages"]:
        del entry["id"]
    ids = chat.send(*messages, user("q2"))
    assert chat.texts == ["s", "q0", "a0", "q1", "a1", "q2"]
    assert ids == [entry["id"] for entry in chat.document["messages"]]
