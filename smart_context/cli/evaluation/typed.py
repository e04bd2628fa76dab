"""Joins short named dialogues into chats of several subjects, to find each by its name.

The names may be short, as people type them.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal

from smart_context.base.text.word_lists import lines_of
from smart_context.base.text.words import content_words
from smart_context.chat.messages import Message, MessageId
from smart_context.cli.evaluation.dialogues import Dialogue, Kind, Question

Order = Literal["in a row", "returning"]

SUBJECTS = 6
_MANY, _MOST_ABSENT, _SEED = 72, 40, 7


def as_chats(
    name: str, kind: Kind, dialogues: Sequence[Dialogue]
) -> list[tuple[str, Kind, list[Dialogue]]]:
    """The chats to measure from a file, in named lists.

    Dialogues of a `typed` file are joined into chats of six subjects, one after the other or each
    returning, and into chats of up to 72. They are also measured alone and, with only the first
    question and answer of each, in chats of three. Dialogues with questions get absent topics
    and short labels.
    """
    if kind == "questions":
        pick = random.Random(_SEED)  # noqa: S311 -- a repeatable choice
        labels = absent_labels()
        asked = [
            replace(
                with_absent(dialogue, pick.sample(labels, len(labels)), _MOST_ABSENT),
                short=short_labels(dialogue),
            )
            for dialogue in dialogues
        ]
        return [(name, kind, asked)]
    if kind != "typed":
        return [(name, kind, list(dialogues))]
    many = min(_MANY, len(dialogues))
    chats = {
        "in a row": chats_of(dialogues, "in a row"),
        "returning": chats_of(dialogues, "returning"),
        f"{many} subjects": chats_of(dialogues, "in a row", subjects=many, absent=_MOST_ABSENT),
        "one subject": chats_of(dialogues, "in a row", subjects=1),
        "three short subjects": chats_of(
            [*map(_beginning, dialogues)], "in a row", subjects=3, rounds=3
        ),
    }
    return [(f"{name}: {order}", kind, found) for order, found in chats.items() if found]


def absent_labels() -> tuple[str, ...]:
    """Subjects that few chats mention, and strings without a meaning."""
    return lines_of(Path(__file__).with_name("absent_labels.txt"))


def chats_of(
    dialogues: Sequence[Dialogue],
    order: Order,
    *,
    subjects: int = SUBJECTS,
    rounds: int = 1,
    absent: int = 8,
    seed: int = _SEED,
) -> list[Dialogue]:
    """Chats of several dialogues each; a dialogue is in at most one chat of each round.

    Args:
        dialogues: Each has one question, which names its subject.
        order: One subject after the other, or each in two parts, the second ones shuffled.
        subjects: The number of dialogues in a chat; a remainder that is too small is left out.
        rounds: How often the dialogues are dealt.
        absent: The number of added labels that share no word with the chat.
    """
    pick = random.Random(seed)  # noqa: S311 -- a repeatable deal
    labels = [*absent_labels(), *(dialogue.questions[0].text for dialogue in dialogues)]
    chats: list[Dialogue] = []
    for _ in range(rounds):
        deck = pick.sample(dialogues, len(dialogues))
        for begin in range(0, len(deck) - subjects + 1, subjects):
            chat = joined(deck[begin : begin + subjects], order, pick)
            chats.append(with_absent(chat, pick.sample(labels, len(labels)), absent))
    return chats


def joined(parts: Sequence[Dialogue], order: Order, pick: random.Random) -> Dialogue:
    """One chat of several dialogues, with the questions of all."""
    first = [(number, 0, len(part.messages)) for number, part in enumerate(parts)]
    later: list[tuple[int, int, int]] = []
    if order == "returning":
        halves = [max(2, (end // 2 + 1) // 2 * 2) for _, _, end in first]
        later = [(n, half, end) for (n, _, end), half in zip(first, halves, strict=True)]
        first = [(n, 0, min(half, end)) for (n, _, end), half in zip(first, halves, strict=True)]
        later = pick.sample(later, len(later))
    messages = [
        replace(message, id=_id(number, message))
        for number, begin, end in (*first, *later)
        for message in parts[number].messages[begin:end]
    ]
    return Dialogue(
        name=f"{len(parts)} subjects {order}",
        messages=tuple(messages),
        questions=tuple(
            Question(
                text=part.questions[0].text,
                evidence=frozenset(_id(number, message) for message in part.messages),
            )
            for number, part in enumerate(parts)
            if part.questions
        ),
        groups=tuple(
            frozenset(_id(number, message) for message in part.messages)
            for number, part in enumerate(parts)
        ),
    )


def with_absent(chat: Dialogue, labels: Sequence[str], most: int) -> Dialogue:
    """The chat with the first `most` labels that share no word with it."""
    own = {question.text for question in chat.questions}
    used = {word for message in chat.messages for word in content_words(message.text)}
    used |= {word for text in own for word in content_words(text)}
    found = [
        label
        for label in labels
        if label not in own and (words := content_words(label)) and used.isdisjoint(words)
    ]
    return replace(chat, absent=tuple(found[:most]))


def _beginning(dialogue: Dialogue) -> Dialogue:
    """Its first question with the answer."""
    return replace(dialogue, messages=dialogue.messages[:2])


def _id(number: int, message: Message) -> MessageId:
    return MessageId(f"d{number}-{message.id}")


_MOST_WORDS = 3
_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")


def short_labels(dialogue: Dialogue) -> tuple[str, ...]:
    """Up to three words in a row of each question that name a subject, each label once.

    Names of the speakers, dates and words such as "when" end a row. Half of the words at least
    are said in the messages that answer the question.
    """
    names = {str((m.extra or {}).get("name", "")).casefold() for m in dialogue.messages}
    texts = {message.id: message.text for message in dialogue.messages}
    found: dict[str, None] = {}
    for question in dialogue.questions:
        label = _subject(question.text, names | _question_words())
        words = frozenset(content_words(label))
        said = {word for each in question.evidence for word in content_words(texts[each])}
        if words and not question.is_trap and 2 * len(said & words) >= len(words):
            found[label] = None
    return tuple(found)


def _subject(question: str, others: set[str]) -> str:
    """The longest row of words that are not among the others, the last of equals."""
    rows: list[list[str]] = [[]]
    for word in _WORD.findall(question):
        plain = word.casefold().removesuffix("'s").removesuffix("\u2019s")
        if plain in others or plain.isdigit():
            rows.append([])
        else:
            rows[-1].append(word)
    longest = max(reversed(rows), key=lambda row: min(len(row), _MOST_WORDS))
    return " ".join(longest[-_MOST_WORDS:])


@cache
def _question_words() -> frozenset[str]:
    return frozenset(lines_of(Path(__file__).with_name("question_words.txt")))
