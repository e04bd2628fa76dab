"""Selects the messages of a chat that stay in context; see docs/filter.md."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smart_context.chat.messages import Message, MessageId
from smart_context.chat.tool_pairs import NO_CALLER, find_tool_pairs
from smart_context.relevance.judge.calibrate import DEFAULT_THRESHOLD, PROBABLY
from smart_context.relevance.reasons import (
    BY_PERSON,
    IS_FILTERED,
    IS_IN,
    KINDS,
    ReasonKind,
    Reasons,
)
from smart_context.relevance.score import Scores

Mask = NDArray[np.bool_]
Kinds = NDArray[np.int8]
Group = list[int]
"""Positions of a tool call and its results, which are never separated."""

_CODE = {kind: np.int8(code) for code, kind in enumerate(KINDS)}
_NONE: frozenset[MessageId] = frozenset()
_NO_LABELS: Mapping[MessageId, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The messages of a chat that a turn keeps."""

    kept: tuple[MessageId, ...]  # the ids in context, chronological, each once
    reasons: Reasons  # the reason for which each message of the chat is in or out
    fell_back: bool  # True if a filter was set, but no message reached its threshold: all stay

    def kept_by_topic(self) -> list[tuple[int, str]]:
        """The positions of the messages that a topic keeps, each with the topic's label."""
        found = self.reasons.found
        if found is None or self.fell_back:
            return []
        kinds = self.reasons.kinds
        by_person, ids = self.reasons.by_person, self.reasons.ids
        matching = np.flatnonzero(kinds == _CODE[ReasonKind.TOPIC])
        own = np.flatnonzero(kinds == _CODE[ReasonKind.MEMBER])
        named = dict(zip(matching.tolist(), found.topics_of(matching), strict=True))
        named.update(zip(own.tolist(), found.owners_of(own), strict=True))
        put = np.flatnonzero(np.isin(kinds, BY_PERSON)).tolist()
        named.update((place, by_person[ids[place]]) for place in put)
        return sorted(named.items())


def select_messages(  # noqa: PLR0913 -- one keyword for each rule
    messages: Sequence[Message],
    *,
    scores: Scores | NDArray[np.float32] | None,
    threshold: float = DEFAULT_THRESHOLD,
    sticky: AbstractSet[MessageId] = _NONE,
    pinned: AbstractSet[MessageId] = _NONE,
    hidden: AbstractSet[MessageId] = _NONE,
    belonging: AbstractSet[MessageId] = _NONE,
    said: Mapping[MessageId, str] = _NO_LABELS,
    assigned: Mapping[MessageId, str] = _NO_LABELS,
    apart: AbstractSet[MessageId] = _NONE,
    unplaced: AbstractSet[MessageId] = _NONE,
    recent: int = 0,
    keep_pairs: bool = False,
) -> Selection:
    """Keep the messages that reach the cut, and those that stay regardless of their score.

    Always kept are sticky, pinned and the newest messages, questions of kept answers, and the rest
    of kept tool exchanges; messages of a selected topic are kept as `Scores.kept_members` says.
    Hidden messages are left out. If only sticky messages would be kept, or none, all stay except
    the hidden ones; a message in `said` is enough to prevent that if scores are probabilities.

    Args:
        messages: The n messages of the chat, oldest first.
        scores: Shape (n,), or `Scores` with the topics' names; `None` if no filter is active.
        threshold: The user's; `Scores.cut` gives the score from which on messages are kept.
        sticky: Standing instructions.
        pinned: Forced in by the user.
        hidden: Forced out by the user, with their whole tool exchange; overrides all other rules.
        belonging: Summaries of messages of a selected topic; they stay regardless of their score.
        said: Messages that were said while a selected topic was picked, with its label; they stay.
        assigned: Messages that a person assigned to a selected topic, with its label; they stay.
        apart: Messages that a person assigned elsewhere; no selected topic keeps them.
        unplaced: Messages known to be in no topic; no score keeps them if the selected topics are
            found ones, from the threshold `PROBABLY` on.
        recent: The number of newest messages that stay.
        keep_pairs: True to keep the question of each kept answer.

    Raises:
        ValueError: If `scores` has another length than `messages`.
    """
    ids = [message.id for message in messages]
    found = _unpacked(scores)
    if found is not None and len(found.best) != len(ids):
        raise ValueError(f"{len(found.best)} scores for {len(ids)} messages")
    by_user = _marks(ids, hidden)
    groups = _tool_groups(messages)
    is_hidden = _with_groups(by_user, groups)
    is_sticky = _marks(ids, sticky)
    fell_back, cut = False, None
    if found is None:
        kinds = np.full(len(ids), _CODE[ReasonKind.NO_FILTER])
    else:
        cut = found.cut(threshold)
        is_apart, was_said, is_assigned = (
            _marks(ids, chosen) for chosen in (apart, said.keys(), assigned.keys())
        )
        is_unplaced = _marks(ids, unplaced) & (found.are_known and threshold >= PROBABLY)
        is_relevant = (found.best >= cut) & ~is_apart & ~is_unplaced
        is_member = (found.kept_members(threshold) | _marks(ids, belonging)) & ~is_apart
        is_found = is_relevant | is_member | is_assigned
        if found.mentioned is not None:  # raw cosines don't show if a topic is mentioned
            is_found |= was_said
        fell_back = not (is_found & ~is_sticky).any()
        kinds = np.full(len(ids), _CODE[ReasonKind.FALLBACK if fell_back else ReasonKind.BELOW])
        if not fell_back:
            for mask, kind in (  # later rules override earlier ones
                (is_unplaced, ReasonKind.UNPLACED),
                (is_apart, ReasonKind.APART),
                (_newest(len(ids), recent), ReasonKind.RECENT),
                (is_member, ReasonKind.MEMBER),
                (is_relevant, ReasonKind.TOPIC),
                (was_said, ReasonKind.SAID),
                (is_assigned, ReasonKind.ASSIGNED),
                (is_sticky, ReasonKind.STICKY),
                (_marks(ids, pinned), ReasonKind.PINNED),
                (is_hidden, ReasonKind.HIDDEN),
            ):
                _set(kinds, mask, kind)
            _bring_companions(kinds, messages, groups, keep_pairs=keep_pairs)
    _set(kinds, is_hidden, ReasonKind.HIDDEN_TOOL)
    _set(kinds, by_user, ReasonKind.HIDDEN)
    return _selection(
        Reasons(
            ids=ids,
            kinds=kinds,
            found=found,
            threshold=threshold,
            cut=cut,
            recent=recent,
            by_person={**said, **assigned},
        ),
        fell_back=fell_back,
    )


def _selection(reasons: Reasons, *, fell_back: bool) -> Selection:
    return Selection(kept=reasons.kept, reasons=reasons, fell_back=fell_back)


def _unpacked(scores: Scores | NDArray[np.float32] | None) -> Scores | None:
    if scores is None or isinstance(scores, Scores):
        return scores
    return Scores(labels=(), values=np.asarray(scores, dtype=np.float32).reshape(1, -1))


def _marks(ids: Sequence[MessageId], chosen: AbstractSet[MessageId]) -> Mask:
    if not chosen:
        return np.zeros(len(ids), dtype=np.bool_)
    return np.fromiter(map(chosen.__contains__, ids), dtype=np.bool_, count=len(ids))


def _newest(count: int, recent: int) -> Mask:
    return np.arange(count) >= count - max(recent, 0)


def _tool_groups(messages: Sequence[Message]) -> list[Group]:
    groups: dict[int, Group] = {}
    for result, caller in find_tool_pairs(messages).caller_of.items():
        if caller != NO_CALLER:
            groups.setdefault(caller, [caller]).append(result)
    return list(groups.values())


def _with_groups(mask: Mask, groups: Sequence[Group]) -> Mask:
    whole = mask.copy()
    for group in groups:
        if mask[group].any():
            whole[group] = True
    return whole


def _questions(messages: Sequence[Message], is_in: Mask) -> Mask:
    """The user's message before each kept answer."""
    questions = np.zeros(len(messages), dtype=np.bool_)
    question = -1
    for position, message in enumerate(messages):
        if message.role == "user":
            question = position
        elif question >= 0 and message.role == "assistant" and is_in[position]:
            questions[question] = True
    return questions


def _set(kinds: Kinds, mask: Mask, kind: ReasonKind) -> None:
    kinds[mask] = _CODE[kind]


def _bring_companions(
    kinds: Kinds, messages: Sequence[Message], groups: Sequence[Group], *, keep_pairs: bool
) -> None:
    """Keep the rest of kept tool exchanges and, if `keep_pairs`, the questions of kept answers."""
    _bring_along(kinds, ReasonKind.TOOL, _with_groups(_is_in(kinds), groups))
    if keep_pairs:
        _bring_along(kinds, ReasonKind.QUESTION, _questions(messages, _is_in(kinds)))


def _bring_along(kinds: Kinds, kind: ReasonKind, mask: Mask) -> None:
    """Keep the messages of `mask` that only the selection leaves out."""
    _set(kinds, mask & IS_FILTERED[kinds], kind)


def _is_in(kinds: Kinds) -> Mask:
    return IS_IN[kinds]
