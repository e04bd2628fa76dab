"""Short names for what a dialogue is asked about."""

from smart_context.chat.messages import Message
from smart_context.cli.evaluation.data.dialogues import Dialogue, Question
from smart_context.cli.evaluation.data.typed import short_labels


def labels_of(*asked, texts=("I run a pottery class in town", "Nice, Ann!")):
    messages = tuple(
        Message(id=f"m{n}", role="user", content=text, extra={"name": name})
        for n, (name, text) in enumerate(zip(("Ann", "Bob"), texts, strict=True))
    )
    questions = tuple(
        Question(text=text, evidence=frozenset({"m0"}), is_trap=is_trap) for text, is_trap in asked
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
