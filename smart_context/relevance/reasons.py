"""The reason for which each message is in or out of context, as a value and in words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import compress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smart_context.base.text.scores import score_in_words
from smart_context.chat.messages import MessageId
from smart_context.relevance.score import Scores


class ReasonKind(StrEnum):
    """The rule that decided about a message."""

    NO_FILTER = "no_filter"
    FALLBACK = "fallback"
    PINNED = "pinned"
    STICKY = "sticky"
    TOPIC = "topic"
    MEMBER = "member"
    SAID = "said"
    ASSIGNED = "assigned"
    RECENT = "recent"
    TOOL = "tool"
    QUESTION = "question"
    BELOW = "below"
    APART = "apart"
    UNPLACED = "unplaced"
    HIDDEN = "hidden"
    HIDDEN_TOOL = "hidden_tool"
    ADDED = "added"
    TAKEN_OUT = "taken_out"
    FAILED = "failed"
    NOTICE = "notice"
    SUMMARISED = "summarised"
    OVER_BUDGET = "over_budget"
    OLD_TOOL = "old_tool"
    EMPTY = "empty"
    CURRENT = "current"
    WAITING = "waiting"  # only in receipts of versions before 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """The effect of a rule on a message, and its words for people."""

    about: str = ""  # its words, with `{}` for the topic; empty for a rule without a topic
    short: str = ""  # its short words if `about` is empty
    cause: str = ""  # its long words; empty if they are the short ones
    is_in: bool = True  # True if it keeps messages in context
    is_filtered: bool = False  # True if it leaves out messages only because of a selection
    is_by_score: bool = False  # True if it depends on the score


RULES: Mapping[ReasonKind, Rule] = {
    ReasonKind.NO_FILTER: Rule(short="no filter", cause="no filter is active"),
    ReasonKind.FALLBACK: Rule(short="no message matches", cause="no message matches, so all stay"),
    ReasonKind.PINNED: Rule(short="pinned", cause="pinned by you"),
    ReasonKind.STICKY: Rule(short="your instruction"),
    ReasonKind.TOPIC: Rule(about="about {}", is_by_score=True),
    ReasonKind.MEMBER: Rule(about="belongs to {}"),
    ReasonKind.SAID: Rule(about="said while {} was picked"),
    ReasonKind.ASSIGNED: Rule(about="about {}, as you chose"),
    ReasonKind.RECENT: Rule(short="newest", cause="the newest message"),
    ReasonKind.TOOL: Rule(short="part of a tool call", cause="belongs to a tool call that stays"),
    ReasonKind.QUESTION: Rule(
        short="question of a sent answer", cause="question of an answer that stays"
    ),
    ReasonKind.BELOW: Rule(
        about="not close enough to {}", is_in=False, is_filtered=True, is_by_score=True
    ),
    ReasonKind.APART: Rule(about="not part of {}, as you chose", is_in=False, is_filtered=True),
    ReasonKind.UNPLACED: Rule(short="in no topic", is_in=False, is_filtered=True),
    ReasonKind.HIDDEN: Rule(short="hidden", cause="hidden by you", is_in=False),
    ReasonKind.HIDDEN_TOOL: Rule(
        short="part of a hidden tool call",
        cause="belongs to a tool call that is hidden by you",
        is_in=False,
    ),
    ReasonKind.ADDED: Rule(short="added by a plugin"),
    ReasonKind.TAKEN_OUT: Rule(short="taken out by a plugin", is_in=False),
    ReasonKind.FAILED: Rule(short="failed answer", cause="this answer failed", is_in=False),
    ReasonKind.NOTICE: Rule(
        short="notice of the program", cause="a notice of the program", is_in=False
    ),
    ReasonKind.SUMMARISED: Rule(short="behind a summary", is_in=False),
    ReasonKind.OVER_BUDGET: Rule(short="over the window", cause="over budget", is_in=False),
    ReasonKind.OLD_TOOL: Rule(
        short="part of an old tool call",
        cause="part of a tool call that is no longer sent",
        is_in=False,
    ),
    ReasonKind.EMPTY: Rule(short="nothing to send", cause="it has nothing to send", is_in=False),
    ReasonKind.CURRENT: Rule(short="part of this turn", cause="follows the question"),
    ReasonKind.WAITING: Rule(
        short="cheaper to send than to leave out",
        cause="not about the selection, but cheaper to send than to leave out",
    ),
}

OUT = frozenset(kind for kind, rule in RULES.items() if not rule.is_in)
FILTERED = frozenset(kind for kind, rule in RULES.items() if rule.is_filtered)
"""The rules that leave out messages only because of a selection."""

KINDS: tuple[ReasonKind, ...] = tuple(ReasonKind)
IS_IN: NDArray[np.bool_] = np.array([kind not in OUT for kind in KINDS])
"""For each of `KINDS`, True if it keeps a message in context."""

IS_FILTERED: NDArray[np.bool_] = np.array([kind in FILTERED for kind in KINDS])
"""For each of `KINDS`, True if it is one of `FILTERED`."""


BY_PERSON = (KINDS.index(ReasonKind.SAID), KINDS.index(ReasonKind.ASSIGNED))
"""The rules that keep messages where a person has put them."""


class Reason(NamedTuple):
    """The reason for which one message is in or out."""

    kind: ReasonKind  # the rule that decided
    # the best score over the selected topics; `None` if no filter is active
    score: float | None = None
    topic: str = ""  # the label of the closest topic; empty if unknown
    threshold: float = 0.0  # the threshold that the score was compared with
    # if scores are probabilities, the one from which messages were kept; else `None`
    cut: float | None = None
    recent: int = 0  # the number of newest messages that are always kept
    # more for the user: a summary's date, or the message's topic that is not picked
    detail: str = ""

    @property
    def is_in(self) -> bool:
        """True if the message is in context."""
        return RULES[self.kind].is_in

    def __str__(self) -> str:
        """The rule that decided, in words, such as `in: about LangGraph`."""
        return f"{'in' if self.is_in else 'out'}: {self._about or self._cause}"

    @property
    def short(self) -> str:
        """The rule in a few words, such as `Not sent – about Travel, which is not picked`."""  # noqa: RUF002 - a dash for people
        words = self._about or RULES[self.kind].short
        return f"{'Sent' if self.is_in else 'Not sent'} – {words}"  # noqa: RUF001 - a dash for people

    @property
    def numbers(self) -> str:
        """The score and its limit, if these decided; else empty."""
        if self.score is None or not RULES[self.kind].is_by_score:
            return ""
        own = score_in_words(self.score, self.cut)
        if self.cut is None:
            return f"similarity {own}, threshold {self.threshold:.2f}"
        limit = max(score_in_words(self.cut), score_in_words(self.cut, self.score), key=len)
        return f"probability {own}, kept from {limit}"

    @property
    def _about(self) -> str:
        """The subject of a message in words, if that decided; else empty."""
        if self.kind is ReasonKind.BELOW and self.detail:
            return f"about {self.detail}, which is not picked"
        if self.kind is ReasonKind.APART and self.detail:
            return f"about {self.detail}, as you chose"
        return RULES[self.kind].about.format(self.topic or "the topic")

    @property
    def _cause(self) -> str:
        match self.kind:
            case ReasonKind.RECENT if self.recent > 1:
                return f"one of the {self.recent} newest"
            case ReasonKind.SUMMARISED if self.detail:
                return f"before the summary of {self.detail}"
            case _:
                return RULES[self.kind].cause or RULES[self.kind].short


@dataclass(frozen=True, kw_only=True, eq=False)
class Reasons(Mapping[MessageId, Reason]):
    """The reasons of a whole chat, each created on demand."""

    ids: Sequence[MessageId]  # the messages, chronological
    kinds: NDArray[np.int8]  # shape (n,), indices into `KINDS`
    found: Scores | None  # the scores; `None` if no filter is active
    threshold: float  # the user's threshold
    # the score from which messages are kept at it; `None` if no filter is active
    cut: float | None = None
    recent: int  # the number of newest messages that are always kept
    # for messages that a person has put under a selected topic, by what was picked or by a word
    # about them, that topic
    by_person: Mapping[MessageId, str] = field(default_factory=dict)

    def __getitem__(self, message_id: MessageId) -> Reason:
        """The reason of one message; raises `KeyError` if the chat has no such message."""
        return self.at(self._positions[message_id])

    def __iter__(self) -> Iterator[MessageId]:
        """The ids, chronological."""
        return iter(self.ids)

    def __len__(self) -> int:
        """The number of messages."""
        return len(self.ids)

    @property
    def is_in(self) -> NDArray[np.bool_]:
        """Shape (n,): True for messages in context."""
        kept: NDArray[np.bool_] = IS_IN[self.kinds]
        return kept

    @property
    def kept(self) -> tuple[MessageId, ...]:
        """The ids in context, chronological, each once."""
        return tuple(dict.fromkeys(compress(self.ids, self.is_in.tolist())))

    @cached_property
    def _positions(self) -> dict[MessageId, int]:
        return {message_id: position for position, message_id in enumerate(self.ids)}

    def columns(self) -> tuple[list[ReasonKind], list[float | None], list[str]]:
        """The kind, score and topic of each message; far cheaper than `at` for each."""
        return self._columns(np.arange(len(self.ids)))

    def at(self, position: int) -> Reason:
        """The reason of the message at `position`."""
        (kind,), (score,), (topic,) = self._columns(np.array([position]))
        cut, limit = self.cut, self.threshold
        if self.found is not None and not self.has_probabilities:
            cut, limit = None, limit if self.cut is None else self.cut
        return Reason(
            kind=kind, score=score, topic=topic, threshold=limit, cut=cut, recent=self.recent
        )

    @property
    def has_probabilities(self) -> bool:
        """True if the scores are probabilities."""
        return self.found is not None and self.found.mentioned is not None

    def _columns(
        self, positions: NDArray[np.intp]
    ) -> tuple[list[ReasonKind], list[float | None], list[str]]:
        kinds = self.kinds[positions]
        named = [KINDS[kind] for kind in kinds.tolist()]
        if self.found is None:
            return named, [None] * len(named), [""] * len(named)
        topics = self.found.topics_of(positions)
        own = np.flatnonzero(kinds == KINDS.index(ReasonKind.MEMBER))
        for place, owner in zip(own.tolist(), self.found.owners_of(positions[own]), strict=True):
            topics[place] = owner
        for place in np.flatnonzero(np.isin(kinds, BY_PERSON)).tolist():
            topics[place] = self.by_person[self.ids[positions[place]]]
        return named, self.found.best[positions].tolist(), topics
