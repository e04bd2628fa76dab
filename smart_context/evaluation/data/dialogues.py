"""A dialogue with what is known to be right about it: what the measures look at."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from smart_context.chat.messages import Message, MessageId


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Something to look for in a dialogue.

    Attributes:
        text: The free-text topic.
        evidence: The messages that answer it; at least one.
        is_trap: It asks what the dialogue does not say, or says of somebody else.
    """

    text: str
    evidence: frozenset[MessageId]
    is_trap: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a user said about themselves, ahead of the dialogue.

    Attributes:
        stated: The messages that state a fact.
        needed: Those of them that some turn of the dialogue needs.
    """

    stated: frozenset[MessageId]
    needed: frozenset[MessageId]


@dataclass(frozen=True, kw_only=True, eq=False)
class Dialogue:
    """One dialogue; what is not known of it is empty.

    Attributes:
        name: For people.
        messages: Oldest first.
        questions: Free-text topics with their evidence.
        absent: Subjects that the dialogue never speaks of.
        groups: The messages of each subject, in several stretches perhaps.
        segments: Stretches about one subject each, together the whole dialogue.
        facts: Personal facts that the user states.
        refers_to: For each follow-up, the earlier messages that it can't be understood without.
        is_own: A chat of the user's: nobody has said what is right.
    """

    name: str
    messages: tuple[Message, ...]
    questions: tuple[Question, ...] = ()
    absent: tuple[str, ...] = ()
    groups: tuple[frozenset[MessageId], ...] = ()
    segments: tuple[frozenset[MessageId], ...] = ()
    facts: Facts | None = None
    refers_to: Mapping[MessageId, frozenset[MessageId]] = field(default_factory=dict)
    is_own: bool = False
