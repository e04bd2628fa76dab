"""A chat's filter as clients get it, in results and events."""

from collections.abc import Mapping
from itertools import compress

import numpy as np

from smart_context.base.results import FilterResult
from smart_context.chat.messages import MessageId
from smart_context.plugin.choices.undo import UndoPreview
from smart_context.plugin.selection.absences import NOTICE, Absence, absences
from smart_context.plugin.selection.decision import ChatView, Decision
from smart_context.plugin.selection.status_line import status
from smart_context.relevance.reasons import KINDS, ReasonKind

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
