"""What is measured, as values that add up, and their means."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

DEPTHS = (10, 20, 50)
"""How many of the best messages are looked through for evidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """How well what was kept matches what belongs, each from 0 to 1."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Right ones among found ones and among wanted ones.

    Attributes:
        right: Found and wanted.
        found: All that were found.
        wanted: All that there are.
    """

    right: int = 0
    found: int = 0
    wanted: int = 0

    @classmethod
    def of(cls, found: AbstractSet[Any], wanted: AbstractSet[Any]) -> "Counts":
        """The counts of two sets."""
        return cls(right=len(found & wanted), found=len(found), wanted=len(wanted))

    def __add__(self, other: "Counts") -> "Counts":
        """Both together."""
        return Counts(
            right=self.right + other.right,
            found=self.found + other.found,
            wanted=self.wanted + other.wanted,
        )

    @property
    def match(self) -> Match:
        """As shares; what there is none of counts as 0."""
        return Match(
            precision=self.right / max(self.found, 1),
            recall=self.right / max(self.wanted, 1),
            f1=2 * self.right / max(self.found + self.wanted, 1),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What one selection sends of a chat.

    Attributes:
        tokens: Of the messages that stay.
        total: Of all messages.
        fell_back: Nothing reached the threshold, so everything stays.
    """

    tokens: int
    total: int
    fell_back: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class Sample:
    """Scores of one selection, with what is right.

    Attributes:
        scores: Shape (n,), on the user's scale.
        belongs: Shape (n,).
    """

    scores: NDArray[np.float32]
    belongs: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a free-text topic finds that the dialogue speaks of.

    Attributes:
        match: What reaches the threshold, beside what belongs.
        is_found: Whether anything reaches it.
        evidence: The share of what belongs among all that is sent.
        tokens: The share of the tokens that are sent.
        baselines: The share of what belongs that simple ways find with as many tokens.
        hits: How many of what belongs are among the best, at each of `DEPTHS`.
        wanted: How many belong.
        is_trap: Whether the question is left out of pooled figures.
    """

    match: Match
    is_found: bool
    evidence: float
    tokens: float
    baselines: Mapping[str, float]
    hits: tuple[int, ...]
    wanted: int
    is_trap: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Found topics beside the subjects of a dialogue.

    Attributes:
        adjusted_rand: 1 for the same groups, 0 for what chance gives.
        coverage: For each subject the F1 of the topic that fits it best, mean.
        topics_each: How many topics there are for each subject.
        largest: The share of the messages that the largest topic has.
        is_single: Whether there is one topic.
    """

    adjusted_rand: float
    coverage: float
    topics_each: float
    largest: float
    is_single: bool


@dataclass(kw_only=True)
class Findings:
    """All that was found on some dialogues.

    Attributes:
        dialogues: How many dialogues.
        messages: How many messages they have.
        recalls: For each question, the share of its evidence at each of `DEPTHS`.
        matches: For each topic that was selected, how well it matches.
        kept: For each selection, what it sends.
        sticky: Standing facts among those that are needed.
        follow_ups: For selections with a follow-up or what it refers to: `found` counts those
            with the follow-up, `wanted` those with what it refers to, `right` those with both.
        samples: What the picture shows.
        asked: For each free-text topic that the dialogue speaks of, what it finds.
        absent: For each that it never speaks of, whether it finds nothing.
        agreements: For each dialogue of known subjects, how the topics fit them.
    """

    dialogues: int = 0
    messages: int = 0
    recalls: list[tuple[float, ...]] = field(default_factory=list)
    matches: list[Match] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    sticky: Counts = Counts()
    follow_ups: Counts = Counts()
    samples: list[Sample] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    absent: list[bool] = field(default_factory=list)
    agreements: list[Agreement] = field(default_factory=list)

    def add(self, other: "Findings") -> None:
        """Take in those of other dialogues."""
        self.dialogues += other.dialogues
        self.messages += other.messages
        self.recalls += other.recalls
        self.matches += other.matches
        self.kept += other.kept
        self.sticky += other.sticky
        self.follow_ups += other.follow_ups
        self.samples += other.samples
        self.asked += other.asked
        self.absent += other.absent
        self.agreements += other.agreements


def recalls_of(scores: NDArray[np.float32], evidence: Sequence[int]) -> tuple[float, ...]:
    """The share of the evidence among the best 10, 20 and 50; of equal scores the first counts.

    Args:
        scores: Shape (n,).
        evidence: Positions, at least one.
    """
    order = np.argsort(-scores, kind="stable")
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    return tuple(float((rank[list(evidence)] < depth).mean()) for depth in DEPTHS)


def best_match(kept: AbstractSet[Any], candidates: Iterable[AbstractSet[Any]]) -> int:
    """Which of the sets it matches best, by F1; the first of equals."""
    return max(enumerate(candidates), key=lambda c: (Counts.of(kept, c[1]).match.f1, -c[0]))[0]


def mean_match(matches: Collection[Match]) -> Match | None:
    """The means of each number; `None` without any."""
    if not matches:
        return None
    count = len(matches)
    return Match(
        precision=sum(m.precision for m in matches) / count,
        recall=sum(m.recall for m in matches) / count,
        f1=sum(m.f1 for m in matches) / count,
    )
