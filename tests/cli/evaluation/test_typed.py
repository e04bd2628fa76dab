import random

import pytest

from smart_context.base.text.words import content_words
from smart_context.chat.messages import Message
from smart_context.cli.evaluation.calibration import (
    absent_labels,
    as_chats,
    chats_of,
    joined,
    short_labels,
    with_absent,
)
from smart_context.cli.evaluation.dialogues import Dialogue, DialogueQuestion, part_of


def dialogue(subject, turns=4):
    messages = tuple(
        Message(id=f"u{n}", role="assistant" if n % 2 else "user", content=f"{subject} {n}")
        for n in range(turns)
    )
    asked = DialogueQuestion(text=subject, evidence=frozenset(m.id for m in messages))
    return Dialogue(name=subject, messages=messages, questions=(asked,))


DIALOGUES = [dialogue(f"subject{letter}") for letter in "abcdefghijklm"]


def subjects_in_order(chat):
    return [message.content.split()[0][-1] for message in chat.messages]


def test_dialogues_follow_each_other_and_each_keeps_its_evidence():
    chat = joined(DIALOGUES[:2], "in a row", random.Random(1))
    assert subjects_in_order(chat) == [*"aaaabbbb"]
    by_id = {message.id: message.content for message in chat.messages}
    for question in chat.questions:
        assert {by_id[i].split()[0] for i in question.evidence} == {question.text}
    assert [len(group) for group in chat.groups] == [4, 4]


def test_a_returning_subject_comes_in_two_parts():
    chat = joined(DIALOGUES[:3], "returning", random.Random(1))
    order = subjects_in_order(chat)
    assert order[:6] == [*"aabbcc"]
    assert sorted(order[6:]) == [*"aabbcc"]


def test_each_dialogue_is_in_one_chat_of_each_round_and_the_deal_can_be_repeated():
    chats = chats_of(DIALOGUES, "in a row", subjects=6, rounds=2)
    assert [len(chat.questions) for chat in chats] == [6] * 4
    assert [c.questions for c in chats] == [
        c.questions for c in chats_of(DIALOGUES, "in a row", subjects=6, rounds=2)
    ]


def test_absent_subjects_share_no_word_with_the_chat():
    chat = with_absent(DIALOGUES[0], ["SubjectA again", "chess", "tea"], 1)
    assert chat.absent == ("chess",)
    for label in absent_labels():
        assert content_words(label)


@pytest.mark.parametrize("kind", ["typed", "questions", "segments"])
def test_a_file_is_measured_under_a_name_for_each_kind_of_chat(kind):
    found = {name: chats for name, _, chats in as_chats("f.json", kind, DIALOGUES)}
    if kind == "typed":
        assert [name.partition(": ")[2] for name in found] == [
            "in a row",
            "returning",
            "13 subjects",
            "one subject",
            "three short subjects",
        ]
        assert all(len(chat.messages) == 6 for chat in [*found.values()][-1])
    else:
        assert list(found) == ["f.json"]
    has_absent = all(chat.absent for chats in found.values() for chat in chats)
    assert has_absent is (kind != "segments")


@pytest.mark.parametrize("count", [0, 1, 5, 12, 100])
def test_the_parts_are_the_whole(count):
    parts = [part_of(range(count), part) for part in ("fit", "choose", "report")]
    assert sorted(one for part in parts for one in part) == [*range(count)]
    assert part_of(range(count), "all") == [*range(count)]
    assert parts == [part_of(range(count), part) for part in ("fit", "choose", "report")]


def labels_of(*asked, texts=("I run a pottery class in town", "Nice, Ann!")):
    messages = tuple(
        Message(id=f"m{n}", role="user", content=text, extra={"name": name})
        for n, (name, text) in enumerate(zip(("Ann", "Bob"), texts, strict=True))
    )
    questions = tuple(
        DialogueQuestion(text=text, evidence=frozenset({"m0"}), is_trap=is_trap)
        for text, is_trap in asked
    )
    return short_labels(Dialogue(name="d", messages=messages, questions=questions))


def test_a_label_is_the_longest_row_of_words_without_speakers_dates_and_question_words():
    assert labels_of(("When did Ann start the pottery class in May 2023?", False)) == (
        "pottery class",
    )


def test_each_label_comes_once_and_only_if_the_evidence_says_half_of_it():
    asked = [
        ("What is Ann's pottery class?", False),
        ("Who goes to the pottery class?", False),
        ("Which kiln does Ann own?", False),
        ("When was it?", False),
        ("What about the town?", True),
    ]
    assert labels_of(*asked) == ("pottery class",)
