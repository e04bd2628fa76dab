"""Dialogues with known answers, the input of the measures; in parts to fit to and to report on."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar, get_args

from smart_context.base.text.languages import main_language
from smart_context.chat.messages import Message, MessageId


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question about a dialogue."""

    text: str  # the question, used as a typed topic
    evidence: frozenset[MessageId]  # the messages that answer it; at least one
    is_trap: bool = False  # the dialogue doesn't answer it, or answers it for another person


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Facts that a user stated before the dialogue."""

    stated: frozenset[MessageId]  # the messages that state a fact
    needed: frozenset[MessageId]  # those that some turn of the dialogue needs


@dataclass(frozen=True, kw_only=True, eq=False)
class Dialogue:
    """One dialogue; unknown fields are empty."""

    name: str
    messages: tuple[Message, ...]  # all messages, oldest first
    questions: tuple[Question, ...] = ()
    absent: tuple[str, ...] = ()  # subjects that the dialogue never mentions
    short: tuple[str, ...] = ()  # short labels that it speaks of
    # the messages of each subject, possibly in several stretches
    groups: tuple[frozenset[MessageId], ...] = ()
    subjects: tuple[str, ...] = ()  # the names of these, in the same order
    # stretches on one subject each, together the whole dialogue
    segments: tuple[frozenset[MessageId], ...] = ()
    facts: Facts | None = None  # personal facts that the user states
    # for each follow-up, the earlier messages that it depends on
    refers_to: Mapping[MessageId, frozenset[MessageId]] = field(default_factory=dict)
    is_own: bool = False  # a chat of the user's, without known answers

    @property
    def language(self) -> str:
        """The ISO 639-1 code of the language of most messages; empty if unknown."""
        return main_language([message.text for message in self.messages])


Part = Literal["all", "fit", "choose", "report"]
PARTS: tuple[Part, ...] = get_args(Part)

T = TypeVar("T")

_SHARES = {"fit": (0.0, 0.6), "choose": (0.6, 0.8), "report": (0.8, 1.0)}
_SEED = 3
_FEW = 10


def part_of(dialogues: Sequence[T], part: Part) -> list[T]:
    """Three fifths to fit to, one to choose by, one to report on; the same in each run.

    Up to ten dialogues are divided in order; more are shuffled first.
    """
    if part == "all":
        return list(dialogues)
    count = len(dialogues)
    order = list(range(count))
    if count > _FEW:
        order = random.Random(_SEED).sample(order, count)  # noqa: S311 -- repeatable
    begin, end = (int(share * count) for share in _SHARES[part])
    return [dialogues[place] for place in sorted(order[begin:end])]
