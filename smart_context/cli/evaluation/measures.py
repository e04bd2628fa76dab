"""The measured values, which can be added, their means, and those of simple methods.

The simple methods get as many tokens as the filter keeps.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smart_context.base.text.bm25 import Bm25
from smart_context.base.text.words import words
from smart_context.chat.messages import Message, MessageId
from smart_context.cli.evaluation.dialogues import Dialogue
from smart_context.llm.models import Matrix
from smart_context.topics.extraction import TopicExtractor
from smart_context.topics.identity import with_ids
from smart_context.topics.values import Extraction, Previous, Topic

_LARGE, _MOST_LOST = 6, 0.3

Groups = Sequence[AbstractSet[MessageId]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """The measures of one chat, or of several: sums, with shares for the mean."""

    steps: int = 0  # the number of extractions after the first
    # for each step, the share of the messages with a topic that left it
    changed: tuple[float, ...] = ()
    # the number of times that a topic of six or more messages lost over 30 % of them in one step
    apart: int = 0
    labels: int = 0  # the number of times that a topic kept half of its messages
    relabelled: int = 0  # those of them in which its label changed
    # for each chat, the share of the pairs in one topic at half-time that still are at the end
    together: tuple[float, ...] = ()
    most: int = 0  # the most topics at the top
    duplicates: int = 0  # the number of topics with the same messages as another
    # for each chat with known subjects, the adjusted Rand index at the end, minus that of the same
    # chat grouped as a whole
    gained: tuple[float, ...] = ()

    def __add__(self, other: "Growth") -> "Growth":
        """The measures of the chats of both."""
        sums = {n.name: getattr(self, n.name) + getattr(other, n.name) for n in fields(self)}
        return Growth(**sums | {"most": max(self.most, other.most)})


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
    """The later topic of each earlier one; pairs that share most messages are matched first."""
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


Figures = Mapping[str, float]
"""Measured values, by their names in the report."""

DEPTHS = (10, 20, 50)
"""The numbers of best messages that are searched for evidence."""


class Match(NamedTuple):
    """The match of the kept messages with the right ones; each value is from 0 to 1."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageCounts:
    """The numbers of right, found and wanted messages."""

    right: int = 0  # found and wanted
    found: int = 0  # all found
    wanted: int = 0  # all wanted

    @classmethod
    def of(cls, found: AbstractSet[Any], wanted: AbstractSet[Any]) -> "MessageCounts":
        """The counts of two sets."""
        return cls(right=len(found & wanted), found=len(found), wanted=len(wanted))

    def __add__(self, other: "MessageCounts") -> "MessageCounts":
        """The sums of both."""
        return MessageCounts(
            right=self.right + other.right,
            found=self.found + other.found,
            wanted=self.wanted + other.wanted,
        )

    @property
    def match(self) -> Match:
        """The counts as shares; 0 where there is nothing to share."""
        return Match(
            precision=self.right / max(self.found, 1),
            recall=self.right / max(self.wanted, 1),
            f1=2 * self.right / max(self.found + self.wanted, 1),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTokens:
    """The tokens of one selection."""

    tokens: int  # the tokens of the messages that stay
    total: int  # the tokens of all messages
    fell_back: bool  # True if no message reached the threshold, so all stay


@dataclass(frozen=True, kw_only=True, eq=False)
class Sample:
    """Scores of one selection, with the known answer."""

    scores: NDArray[np.floating[Any]]  # shape (n,), on the user's scale
    belongs: NDArray[np.bool_]  # shape (n,), True for messages that belong to the topic
    are_probabilities: bool = False  # True if the scores are probabilities


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedTopicResult:
    """The result of a typed topic that the dialogue mentions."""

    # those of a `Match` for the messages that reach the threshold; whether any does (`found`); the
    # shares of `evidence` and `tokens` that are sent; and the share of the evidence that each
    # simple method finds with as many tokens
    figures: Figures
    hits: tuple[int, ...]  # the number of pieces of evidence among the best, at each of `DEPTHS`
    wanted: int  # the number of pieces of evidence
    is_trap: bool  # True if the question is left out of pooled figures


@dataclass(kw_only=True)
class Findings:
    """All measurements of some dialogues."""

    dialogues: int = 0
    messages: int = 0
    # for each question, the share of its evidence at each of `DEPTHS`
    recalls: list[tuple[float, ...]] = field(default_factory=list)
    # for each selected topic, its match
    matches: list[Match] = field(default_factory=list)
    kept: list[KeptTokens] = field(default_factory=list)  # for each selection, its tokens
    sticky: MessageCounts = MessageCounts()  # sticky facts, compared with the needed ones
    # for all selections, `found` counts those with a follow-up, `wanted` those with the messages it
    # refers to, `right` those with both
    follow_ups: MessageCounts = MessageCounts()
    samples: list[Sample] = field(default_factory=list)  # the scores that the picture shows
    # the result of each typed topic that the dialogue mentions
    asked: list[TypedTopicResult] = field(default_factory=list)
    # for each topic that it never mentions, True if no message is found
    absent: list[bool] = field(default_factory=list)
    absent_samples: list[Sample] = field(default_factory=list)
    # for each short label that it speaks of, True if a message is found
    short: list[bool] = field(default_factory=list)
    # for each dialogue with known subjects, the agreement of topics and subjects
    agreements: list[Figures] = field(default_factory=list)
    # the stability of topics while the dialogues grow; empty unless they are replayed
    growth: Growth = field(default_factory=Growth)
    # for each question, its dialogue, and the share of its evidence that a new chat recalls of all
    # dialogues, by method
    recalled: list[tuple[str, Figures]] = field(default_factory=list)

    def add(self, other: "Findings") -> None:
        """Add the measurements of other dialogues."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


def recalls_of(scores: NDArray[np.floating[Any]], evidence: Sequence[int]) -> tuple[float, ...]:
    """The share of the evidence in the best 10, 20 and 50; among equal scores, the first wins.

    Args:
        scores: Shape (n,).
        evidence: Positions, at least one.
    """
    order = np.argsort(-scores, kind="stable")
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    return tuple(float((rank[list(evidence)] < depth).mean()) for depth in DEPTHS)


def best_match(kept: AbstractSet[Any], candidates: Iterable[AbstractSet[Any]]) -> int:
    """The index of the set that matches best, by F1; the first of equals."""
    return max(enumerate(candidates), key=lambda c: (MessageCounts.of(kept, c[1]).match.f1, -c[0]))[
        0
    ]


def means(rows: Sequence[Figures]) -> dict[str, float]:
    """The mean of each figure over all rows, of which there is at least one."""
    return {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}


Floats = NDArray[np.float32]
_NEIGHBOUR = np.float32(0.5)


@dataclass(frozen=True, kw_only=True, eq=False)
class Baselines:
    """The messages of a dialogue, ready to be ranked."""

    vectors: Matrix  # shape (n, d), unit rows
    tokens: NDArray[np.intp]  # shape (n,)
    index: Bm25

    @classmethod
    def of(cls, texts: Sequence[str], vectors: Matrix, tokens: Sequence[int]) -> "Baselines":
        """The baselines of messages with these texts, vectors and token counts."""
        return cls(vectors=vectors, tokens=np.array(tokens), index=Bm25(map(words, texts)))

    def recalls(
        self, text: str, query: Floats, evidence: Sequence[int], budget: int
    ) -> Mapping[str, float]:
        """For each method, the share of the evidence in its best messages within the budget."""
        found: dict[str, float] = {}
        for name, order in self.orders(text, query).items():
            kept = order[np.cumsum(self.tokens[order]) <= budget]
            found[name] = float(np.isin(list(evidence), kept).mean())
        return found

    def orders(self, text: str, query: Floats) -> Mapping[str, NDArray[np.intp]]:
        """For each method, the positions of all messages, best first."""
        close = np.asarray(self.vectors @ query, dtype=np.float32)
        lexical = self.index.scores(words(text))
        return {
            name: np.argsort(-score(close, lexical), kind="stable") for name, score in _WAYS.items()
        }


def _standard(values: Floats) -> Floats:
    return np.asarray((values - values.mean()) / (values.std() + 1e-6), dtype=np.float32)


def _with_neighbours(values: Floats) -> Floats:
    mixed = values.copy()
    mixed[1:] += _NEIGHBOUR * values[:-1]
    mixed[:-1] += _NEIGHBOUR * values[1:]
    return mixed


_WAYS: Mapping[str, Callable[[Floats, Floats], Floats]] = {
    "newest": lambda close, _: np.arange(len(close), dtype=np.float32),
    "bm25": lambda _, lexical: lexical,
    "cosine": lambda close, _: close,
    "both": lambda close, lexical: _with_neighbours(_standard(close) + _standard(lexical)),
}


async def replayed(dialogue: Dialogue, extractor: TopicExtractor) -> Growth:
    """The measures of a dialogue that grows by one question with its answers at a time."""
    steps = await steps_of(dialogue.messages, extractor)
    found = growth_of(steps)
    subjects = dialogue.groups or dialogue.segments
    if not subjects or not steps:
        return found
    whole = with_ids((await extractor.extract(dialogue.messages)).topics)
    ids = [message.id for message in dialogue.messages]
    grown, fresh = (
        agreement(ids, [frozenset(t.message_ids) for t in narrowest(topics)], [], subjects)
        for topics in (steps[-1], whole)
    )
    return replace(found, gained=(grown["adjusted_rand"] - fresh["adjusted_rand"],))


async def steps_of(
    messages: Sequence[Message], extractor: TopicExtractor, *, start: int = 0
) -> list[tuple[Topic, ...]]:
    """The topics after each question with its answers; the first time after `start` messages."""
    ends = [n for n, message in enumerate(messages) if n > 0 and message.role == "user"]
    previous = Previous()
    steps: list[tuple[Topic, ...]] = []
    for end in (*(end for end in ends if end >= start), len(messages)):
        found: Extraction = await extractor.extract(messages[:end], previous=previous)
        topics = with_ids(found.topics, previous.topics)
        previous = Previous(topics=topics, seen=messages[end - 1].id)
        steps.append(topics)
    return steps


def agreement(ids: Sequence[MessageId], found: Groups, wide: Groups, subjects: Groups) -> Figures:
    """Compare topics with subjects; messages without a topic count as one more group.

    Args:
        found: The narrowest topics, disjoint.
        wide: The top-level topics.

    Returns:
        `adjusted_rand`: 1 for the same groups, 0 on average for random ones; `coverage`: the mean
        over the subjects of the F1 of the topic that fits best; `topics_each` subject; `single`:
        there is only one topic; `largest`: the share of the messages in the largest one.
    """
    wanted = _group_of_each(ids, subjects)
    known = wanted >= 0
    best = [
        max((MessageCounts.of(topic, one).match.f1 for topic in found), default=0)
        for one in subjects
    ]
    return {
        "adjusted_rand": adjusted_rand(_group_of_each(ids, found)[known], wanted[known]),
        "coverage": sum(best) / max(len(best), 1),
        "topics_each": len(found) / max(len(subjects), 1),
        "single": len(found) == 1,
        "largest": max(map(len, wide), default=0) / max(len(ids), 1),
    }


def adjusted_rand(one: NDArray[np.intp], other: NDArray[np.intp]) -> float:
    """The adjusted Rand index of two groupings of the same things."""
    table = np.zeros((len(np.unique(one)), len(np.unique(other))))
    np.add.at(
        table, (np.unique(one, return_inverse=True)[1], np.unique(other, return_inverse=True)[1]), 1
    )
    pairs, rows, columns = (_pairs(v) for v in (table, table.sum(axis=1), table.sum(axis=0)))
    expected = rows * columns / max(_pairs(np.array([len(one)])), 1)
    most = (rows + columns) / 2
    return 1.0 if most == expected else float((pairs - expected) / (most - expected))


def _pairs(counts: NDArray[np.float64] | NDArray[np.intp]) -> float:
    return float((counts * (counts - 1) / 2).sum())


def _group_of_each(ids: Sequence[MessageId], groups: Groups) -> NDArray[np.intp]:
    number = {one: place for place, group in enumerate(groups) for one in group}
    return np.array([number.get(one, -1) for one in ids], dtype=np.intp)
