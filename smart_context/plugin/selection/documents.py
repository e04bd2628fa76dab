"""A chat's filter as clients get it, in results and events."""

from collections import Counter
from collections.abc import Mapping
from itertools import compress
from typing import NamedTuple

import numpy as np

from smart_context.base.results import FilterResult
from smart_context.base.text.saying import said
from smart_context.chat.messages import MessageId
from smart_context.plugin.choices.undo import UndoPreview
from smart_context.plugin.selection.decision import ChatView, Decision
from smart_context.plugin.selection.window_budget import NOTICE, Absence, absences
from smart_context.relevance.reasons import KINDS, ReasonKind
from smart_context.topics.stored import MOST_TOPICS

_HIDDEN = [KINDS.index(ReasonKind.HIDDEN), KINDS.index(ReasonKind.HIDDEN_TOOL)]

HELD_BY_PROVIDER = (
    "The provider holds this chat's history: the client sends only what is new, so the filter "
    "leaves nothing out. Set the client to send the whole history."
)


def filter_result(
    view: ChatView, decision: Decision, *, role_problem: str, undoable: UndoPreview
) -> FilterResult:
    """The filter, and its result as the page shows it.

    `set_filter` returns it, and `filter_changed` carries it.
    """
    state = view.sidecar.state
    held = HELD_BY_PROVIDER if view.is_held else ""
    sticky = view.sticky_ids
    absent = absences(view.messages, decision.candidates)
    told_status = status(view, decision, absent)
    silent = _silent(view, decision, absent)
    picked = [topic for topic in view.sidecar.topics if topic.label in state.active_topics]
    told = [f"{topic.label} is {silent[topic.id]}." for topic in picked if topic.id in silent]
    result: FilterResult = {
        "active_topics": list(state.active_topics),
        "message_ids": [message.id for message in decision.messages],
        "total_messages": len(view.messages),
        "fell_back": decision.selection.fell_back,
        "status": told_status.line,
        "short_status": told_status.short,
        "problem": " ".join(
            filter(
                None,
                (
                    *(view.sidecar.problem, view.sidecar.members_problem, decision.problem, held),
                    *(role_problem, *told),
                ),
            )
        ),
        "threshold": decision.selection.reasons.threshold,
        "cut": decision.selection.reasons.cut,
        "threshold_is_own": state.threshold is not None,
        "pinned": list(state.pinned),
        "hidden": list(state.hidden),
        "sticky": [m.id for m in view.messages if m.id in sticky],
        "kept_by": _kept_by(decision),
        "summed_up": _summed_up(view, absent),
        "silent": silent,
        "role": state.role,
        "undo_steps": undoable.count,
        "undo_words": undoable.words,
        "moved": [move.told for move in undoable.moves],
    }
    return result


def _summed_up(view: ChatView, absent: Mapping[MessageId, Absence]) -> dict[str, int]:
    """The number of each topic's messages that a summary or clearing replaces, by topic id."""
    if not any(message.is_summary for message in view.messages):
        return {}
    gone = {
        message_id
        for message_id, absence in absent.items()
        if absence is not NOTICE and absence.reason.kind is ReasonKind.SUMMARISED
    }
    counts = {topic.id: len(gone.intersection(topic.message_ids)) for topic in view.sidecar.topics}
    return {topic_id: count for topic_id, count in counts.items() if count}


_MUTED = "muted: its messages are hidden, so none of them is sent, also when it is picked"
_BEHIND = "summed up or cleared: none of its messages is sent word for word, also when it is picked"
_SILENT = "silent: none of its messages can be sent, also when it is picked"


def _silent(
    view: ChatView, decision: Decision, absent: Mapping[MessageId, Absence]
) -> dict[str, str]:
    """The reasons why topics have no message that can be sent, by the id of each such topic."""
    reasons = decision.selection.reasons
    hidden = set(view.sidecar.state.hidden)
    if hidden:
        hidden.update(compress(reasons.ids, np.isin(reasons.kinds, _HIDDEN).tolist()))
    elif not absent:
        return {}
    behind = {
        message_id
        for message_id, absence in absent.items()
        if absence.reason.kind is ReasonKind.SUMMARISED
    }
    found = {}
    for topic in view.sidecar.topics:
        own = set(topic.message_ids)
        if own and own <= hidden | absent.keys():
            found[topic.id] = _MUTED if own <= hidden else _BEHIND if own <= behind else _SILENT
    return found


def _kept_by(decision: Decision) -> dict[str, list[str]]:
    """The messages that each topic keeps, by its label."""
    ids = decision.selection.reasons.ids
    kept: dict[str, list[str]] = {}
    for position, topic in decision.selection.kept_by_topic():
        kept.setdefault(topic, []).append(ids[position])
    return kept


SUMMARISED = "summed up"
CLEARED = "before the clearing"
OVER_WINDOW = "over the window"

_ENDINGS = (SUMMARISED, CLEARED, OVER_WINDOW)
_OVER_BUDGET = KINDS.index(ReasonKind.OVER_BUDGET)


class Status(NamedTuple):
    """The number of messages that the next turn sends, in words."""

    line: str  # with other reasons than the filter: `5 of 14 messages in context · …`
    short: str  # for narrow places: `5 of 14`


def status(
    view: ChatView, decision: Decision, absent: Mapping[MessageId, Absence] | None = None
) -> Status:
    """The number of messages that the next turn sends, and other reasons than the filter for it.

    If the reasons can't be put into words, only the count is given, so that choices still work.

    Notices of the program are not counted, since they are never sent. The line gives no reason for
    messages that the filter leaves out, since the count shows them, nor for failed answers and
    results of old tool calls, since those messages show it themselves.

    Args:
        absent: The `absences` of the messages, if they are known.
    """
    sent = f"{len(decision.messages)} of {len(view.messages)}"
    return said(
        lambda: _status(view, decision, absent), Status(f"{sent} messages in context", sent)
    )


def _status(
    view: ChatView, decision: Decision, absent: Mapping[MessageId, Absence] | None
) -> Status:
    if absent is None:
        absent = absences(view.messages, decision.candidates)
    total = len(view.messages) - sum(absence is NOTICE for absence in absent.values())
    sent = len(decision.messages)
    if absent or len(decision.candidates) != total:  # a plugin may have added messages
        ids = {message.id for message in view.messages}
        sent = sum(message.id in ids for message in decision.messages)
    short = f"{sent} of {total}"
    counted = f"{short} messages in context"
    if decision.selection.fell_back:
        counted = f"all {total} messages in context" if sent == total else counted
        short, counted = "No match", f"No message matches; {counted}"
    elif sent == total and decision.selection.reasons.found is None:
        short, counted = "All", "All messages in context"
    endings: Counter[str] = Counter()
    for absence, count in Counter(absent.values()).items():
        endings[_ending(absence)] += count
    endings[OVER_WINDOW] += int(np.count_nonzero(decision.selection.reasons.kinds == _OVER_BUDGET))
    words = [counted, *(f"{endings[e]} {e}" for e in _ENDINGS if endings[e])]
    if view.more_topics:
        words.append(f"{MOST_TOPICS} of {MOST_TOPICS + view.more_topics:,} topics")
    return Status(" · ".join(words), short)


def _ending(absence: Absence) -> str:
    if absence.is_cleared:
        return CLEARED
    if absence.reason.kind is ReasonKind.SUMMARISED:
        return SUMMARISED
    return OVER_WINDOW if absence.reason.kind is ReasonKind.OVER_BUDGET else ""
