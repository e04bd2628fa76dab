"""Short names for what a dialogue is asked about, as people type them."""

import re
from functools import cache
from pathlib import Path

from smart_context.base.text.word_lists import lines_of
from smart_context.base.text.words import content_words
from smart_context.cli.evaluation.data.dialogues import Dialogue

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
