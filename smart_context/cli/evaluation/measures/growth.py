"""How well topics stay themselves while a chat grows by one question at a time."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import pairwise

from smart_context.chat.messages import MessageId
from smart_context.topics.values import Topic

_LARGE, _MOST_LOST = 6, 0.3

Groups = Sequence[AbstractSet[MessageId]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """The measures of one chat, or of several: sums, with shares for the mean."""

    steps: int = 0  # the number of extractions after the first
    # for each step, the share of the messages with a topic that left it
    changed: tuple[float, ...] = ()
    # how often a topic of six messages or more lost more than 30 % of them in one step
    apart: int = 0
    labels: int = 0  # how often a topic kept half of its messages
    relabelled: int = 0  # how often its label was another one all the same
    # for each chat, the share of the pairs in one topic at half-time that still are at the end
    together: tuple[float, ...] = ()
    most: int = 0  # the most topics at the top
    duplicates: int = 0  # how often two topics held the same messages
    # for each chat with known subjects, how much larger the adjusted Rand index is at the end than
    # that of the same chat grouped as a whole
    gained: tuple[float, ...] = ()

    def __add__(self, other: "Growth") -> "Growth":
        """The measures of the chats of both."""
        return Growth(
            steps=self.steps + other.steps,
            changed=self.changed + other.changed,
            apart=self.apart + other.apart,
            labels=self.labels + other.labels,
            relabelled=self.relabelled + other.relabelled,
            together=self.together + other.together,
            most=max(self.most, other.most),
            duplicates=self.duplicates + other.duplicates,
            gained=self.gained + other.gained,
        )


def growth_of(steps: Sequence[Sequence[Topic]]) -> Growth:
    """The measures of a chat, from its topics after each question; the first may be empty."""
    found = Growth(
        most=max((sum(not t.parent_id for t in topics) for topics in steps), default=0),
        duplicates=sum(map(_duplicates, steps)),
    )
    for before, after in pairwise(steps):
        if before:
            found += _step(narrowest(before), narrowest(after))
    if not steps:
        return found
    half, end = ([set(t.message_ids) for t in narrowest(steps[n])] for n in (_half(steps), -1))
    pairs = sum(len(group) * (len(group) - 1) // 2 for group in half)
    still = sum(len(one & other) * (len(one & other) - 1) // 2 for one in half for other in end)
    return replace(found, together=(still / pairs,)) if pairs else found


def narrowest(topics: Sequence[Topic]) -> list[Topic]:
    """The topics that have no parts."""
    wholes = {topic.parent_id for topic in topics if topic.parent_id}
    return [topic for topic in topics if (topic.id or topic.label) not in wholes]


def _half(steps: Sequence[object]) -> int:
    return (len(steps) - 1) // 2


def _step(before: Sequence[Topic], after: Sequence[Topic]) -> Growth:
    """The changes from one extraction to the next; topics are the same by their messages."""
    same = _matched(before, after)
    lost = [
        len({*topic.message_ids} - {*same[n].message_ids} if n in same else topic.message_ids)
        for n, topic in enumerate(before)
    ]
    kept = [
        same[n].label == topic.label
        for n, topic in enumerate(before)
        if n in same and 2 * lost[n] <= len(topic.message_ids)
    ]
    total = sum(len(topic.message_ids) for topic in before)
    return Growth(
        steps=1,
        changed=(sum(lost) / max(total, 1),),
        apart=sum(
            len(topic.message_ids) >= _LARGE and gone > _MOST_LOST * len(topic.message_ids)
            for topic, gone in zip(before, lost, strict=True)
        ),
        labels=len(kept),
        relabelled=kept.count(False),
    )


def _matched(before: Sequence[Topic], after: Sequence[Topic]) -> dict[int, Topic]:
    """The later topic that each earlier one is: those that share most messages first."""
    shared = sorted(
        (-len({*one.message_ids} & {*other.message_ids}), n, m)
        for n, one in enumerate(before)
        for m, other in enumerate(after)
    )
    same: dict[int, Topic] = {}
    taken: set[int] = set()
    for size, n, m in shared:
        if size and n not in same and m not in taken:
            same[n] = after[m]
            taken.add(m)
    return same


def _duplicates(topics: Sequence[Topic]) -> int:
    sets = [frozenset(topic.message_ids) for topic in topics if topic.message_ids]
    return len(sets) - len(set(sets))
